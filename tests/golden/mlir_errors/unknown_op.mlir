module @m {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.ad %arg0, %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
