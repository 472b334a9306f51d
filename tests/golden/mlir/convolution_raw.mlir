func.func @main(%arg0: tensor<2x4x8x3xf32>, %arg1: tensor<2x2x3x5xf32>) -> tensor<2x5x3x7xf32> {
  %0 = "stablehlo.convolution"(%arg0, %arg1) {
    batch_group_count = 1 : i64,
    feature_group_count = 1 : i64,
    dimension_numbers = #stablehlo.conv<raw
      input_batch_dimension = 0,
      input_feature_dimension = 3,
      input_spatial_dimensions = [1, 2],
      kernel_input_feature_dimension = 2,
      kernel_output_feature_dimension = 3,
      kernel_spatial_dimensions = [0, 1],
      output_batch_dimension = 0,
      output_feature_dimension = 1,
      output_spatial_dimensions = [2, 3]
    >
  } : (tensor<2x4x8x3xf32>, tensor<2x2x3x5xf32>) -> tensor<2x5x3x7xf32>
  return %0 : tensor<2x5x3x7xf32>
}
