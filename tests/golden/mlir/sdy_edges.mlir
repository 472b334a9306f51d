module @sdy_edges {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<i32>) -> tensor<8x8xf32> {
    %c = sdy.constant dense<2.0> : tensor<8x8xf32>
    %0 = sdy.data_flow_edge %arg0 sharding=<@mesh, [{"x", ?}, {?}]> : tensor<8x8xf32>
    %1 = sdy.data_flow_edge %0 : tensor<8x8xf32>
    %2 = "stablehlo.case"(%arg1) ({
      %3 = stablehlo.add %1, %c : tensor<8x8xf32>
      stablehlo.return %3 : tensor<8x8xf32>
    }, {
      stablehlo.return %c : tensor<8x8xf32>
    }) : (tensor<i32>) -> tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}
