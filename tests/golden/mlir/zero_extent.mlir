func.func @main(%arg0: tensor<8x0xf32>, %arg1: tensor<0x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x0xf32>, tensor<0x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
