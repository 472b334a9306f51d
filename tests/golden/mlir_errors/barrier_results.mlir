func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0:2 = stablehlo.optimization_barrier %arg0 : tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8xf32>
}
