module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4, "model"=2]> {stablehlo.mesh = {axes = [{name = "data", size = 4 : i64}, {name = "model", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x16xf32>) -> (tensor<8x8x8xf32> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"data"}, {}, {"model"}]>] out_shardings=[<@mesh, [{"data"}, {}, {"model"}]>] manual_axes={"data", "model"} (%arg1: tensor<2x4x8xf32>) {
      %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2] : (tensor<2x4x8xf32>) -> tensor<2x4x8x1xf32>
      %2 = "stablehlo.all_to_all"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 3 : i64, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<2x4x8x1xf32>) -> tensor<2x1x8x4xf32>
      %3 = stablehlo.reshape %2 : (tensor<2x1x8x4xf32>) -> tensor<2x8x4xf32>
      sdy.return %3 : tensor<2x8x4xf32>
    } : (tensor<8x4x16xf32>) -> tensor<8x8x8xf32>
    return %0 : tensor<8x8x8xf32>
  }
}
