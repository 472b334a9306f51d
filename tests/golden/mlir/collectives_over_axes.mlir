module @collectives_over_axes attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<4x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x4xf32>, tensor<16x4xf32>) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<8x8xf32>) {
      %1 = "stablehlo.all_reduce"(%arg2) <{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>,
        use_global_device_ids
      }> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
      sdy.return %1 : tensor<8x8xf32>
    } : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %1 = "stablehlo.all_gather"(%arg1) <{
      all_gather_dim = 0 : i64,
      channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>, #stablehlo.axis_ref<name = "x">]>,
      use_global_device_ids
    }> : (tensor<4x8xf32>) -> tensor<16x8xf32>
    %2:2 = "stablehlo.all_to_all"(%arg1, %arg0) <{
      split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64,
      channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>,
      replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>
    }> : (tensor<4x8xf32>, tensor<16x8xf32>) -> (tensor<8x4xf32>, tensor<32x4xf32>)
    %3 = stablehlo.slice %2#1 [0:16, 0:4] : (tensor<32x4xf32>) -> tensor<16x4xf32>
    return %0, %1, %2#0, %3 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x4xf32>, tensor<16x4xf32>
  }
}
