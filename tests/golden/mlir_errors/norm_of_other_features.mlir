func.func @main(%x: tensor<2x5xf32>, %scale: tensor<4xf32>, %offset: tensor<5xf32>) -> tensor<2x5xf32> {
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.001 : f32, feature_index = 1 : i64}
    : (tensor<2x5xf32>, tensor<4xf32>, tensor<5xf32>) -> (tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>)
  return %0#0 : tensor<2x5xf32>
}
