func.func @main(%x: tensor<16x11xi32>, %i: tensor<5x2xi32>) -> tensor<5x8x6xi32> {
  %0 = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 8, 6>
  } : (tensor<16x11xi32>, tensor<5x2xi32>) -> tensor<5x8x6xi32>
  return %0 : tensor<5x8x6xi32>
}
