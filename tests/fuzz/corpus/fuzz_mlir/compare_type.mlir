func.func @main(%arg0: tensor<4xf32>) -> tensor<4xi1> {
  %0 = stablehlo.compare NE, %arg0, %arg0, FL$OAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
