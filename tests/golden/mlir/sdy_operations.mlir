!matrix = tensor<16x8xf32>
module @sdy_operations {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: !matrix {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {"y"}p0], unreduced=max{}>}) -> !matrix {
    %0 = sdy.all_gather [{}, {"y"}] %arg0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
    %1 = sdy.all_slice [{}, {"y":(1)2}] %0 out_sharding=<@mesh, [{"x"}, {"y":(1)2}]> : tensor<16x8xf32>
    %2 = sdy.all_reduce {"x", "y":(2)2} %1 out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
    %3 = sdy.reduce_scatter [{"x"}, {}] %2 out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
    %4 = sdy.all_to_all [{"x"}: 0->1] %3 out_sharding=<@mesh, [{}, {"x"}]> : tensor<16x8xf32>
    %5 = sdy.collective_permute %4 out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
    %6 = sdy.reshard %5 <@mesh, [{"y"}, {}], replicated={"x"}> : tensor<16x8xf32>
    %7 = sdy.named_computation<"inner">(%6) in_shardings=[<@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{}, {"y"}]>] (%arg1: tensor<16x8xf32>) {
      %9 = stablehlo.negate %arg1 : tensor<16x8xf32>
      sdy.return %9 : tensor<16x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    sdy.sharding_group %7 group_id=3 : tensor<16x8xf32>
    %8 = sdy.propagation_barrier %7 allowed_direction=FORWARD : tensor<16x8xf32>
    return %8 : !matrix
  }
}
