func.func @main(%x: tensor<3x4xi32>, %i: tensor<i32>, %j: tensor<i64>) -> tensor<1x4xi32> {
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 4] : (tensor<3x4xi32>, tensor<i32>, tensor<i64>) -> tensor<1x4xi32>
  return %0 : tensor<1x4xi32>
}
