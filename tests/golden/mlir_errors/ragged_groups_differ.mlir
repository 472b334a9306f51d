func.func @main(%x: tensor<11x5xf32>, %w: tensor<3x5x7xf32>, %sizes: tensor<2xi64>) -> tensor<11x7xf32> {
  %0 = "chlo.ragged_dot"(%x, %w, %sizes) {
    ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
                                                    lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
  } : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<2xi64>) -> tensor<11x7xf32>
  return %0 : tensor<11x7xf32>
}
