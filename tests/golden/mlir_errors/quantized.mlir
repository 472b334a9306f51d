func.func @main(%arg0: tensor<4x!quant.uniform<i8:f32, 2.0>>) -> tensor<4xf32> {
  %0 = stablehlo.uniform_dequantize %arg0 : (tensor<4x!quant.uniform<i8:f32, 2.0>>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
