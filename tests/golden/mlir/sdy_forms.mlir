module @sdy_forms {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  sdy.mesh @other = <["a"=4, "b"=2], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>
  sdy.mesh @maximal_mesh_0 = <[], device_ids=[3]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@other, [{"b"}, {"a"}p1]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)2, ?}p1], replicated={"b"}>}) -> (tensor<8x8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{"a", "b"}, {}]> : tensor<8x8xf32>
    %1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : tensor<8x8xf32>
    %2 = stablehlo.add %1, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {}]>]>} : tensor<8x8xf32>
    %3:2 = stablehlo.optimization_barrier %2, %arg1 : tensor<8x8xf32>, tensor<8xf32>
    %4:2 = sdy.manual_computation(%3#1, %3#0) in_shardings=[<@mesh, [{"a"}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"a"}]>, <@mesh, [{"a", ?}, {}]>] manual_axes={"a"} (%arg2: tensor<2xf32>, %arg3: tensor<8x8xf32>) {
      %9 = stablehlo.slice %arg3 [0:2, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
      %10 = sdy.sharding_constraint %9 <@mesh, [{}, {"b"}]> : tensor<2x8xf32>
      sdy.return %arg2, %10 : tensor<2xf32>, tensor<2x8xf32>
    } : (tensor<8xf32>, tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
    sdy.sharding_group %4#0 group_id=5 : tensor<8xf32>
    %5 = sdy.all_gather [{"a", "b"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    %6 = stablehlo.add %4#1, %5 : tensor<8x8xf32>
    %7 = stablehlo.custom_call @annotate_device_placement(%4#0) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<8xf32>) -> tensor<8xf32>
    %8 = stablehlo.composite "foo.bar" %7 {composite_attributes = {a = 1 : i64}, decomposition = @dec, version = 1 : i32} : (tensor<8xf32>) -> tensor<8xf32>
    return %6, %8 : tensor<8x8xf32>, tensor<8xf32>
  }
  func.func private @dec(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
