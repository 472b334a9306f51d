module @m {
  func.func public @main() -> tensor<2x2xi8> {
    %c = stablehlo.constant dense<[[1, 2], [3]]> : tensor<2x2xi8>
    return %c : tensor<2x2xi8>
  }
}
