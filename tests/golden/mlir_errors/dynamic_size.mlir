module @m {
  func.func public @main(%arg0: tensor<?x8xf32>) -> tensor<?x8xf32> {
    return %arg0 : tensor<?x8xf32>
  }
}
