func.func @main(%arg0: tensor<2x8xf32>) -> tensor<2x8x4xf32> {
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<2x8x4xf32>
  return %0 : tensor<2x8x4xf32>
}
