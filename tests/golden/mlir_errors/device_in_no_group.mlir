func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> {
  %0 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[0, 1, 3]]> : tensor<1x3xi64>} : (tensor<10xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}
