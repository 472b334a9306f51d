module @m {
  func.func public @main(%arg0: !stablehlo.token) -> tensor<8xf32> {
    %0:2 = "stablehlo.infeed"(%arg0) <{infeed_config = "", layout = [[0]]}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %0#0 : tensor<8xf32>
  }
}
