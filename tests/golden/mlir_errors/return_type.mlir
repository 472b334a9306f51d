func.func @main(%arg0: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<2x8xf32>
  return %0 : tensor<8x2xf32>
}
