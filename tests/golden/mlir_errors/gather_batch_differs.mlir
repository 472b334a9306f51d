func.func @main(%x: tensor<2x4x9xi32>, %i: tensor<2x5x1xi32>) -> tensor<2x5x8xi32> {
  %0 = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], operand_batching_dims = [0, 1],
                                          start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>
  } : (tensor<2x4x9xi32>, tensor<2x5x1xi32>) -> tensor<2x5x8xi32>
  return %0 : tensor<2x5x8xi32>
}
