module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xf32>) -> (tensor<8x16xf32> {jax.result_info = "result[0]"}, tensor<8x16xf32> {jax.result_info = "result[1]"}) {
    sdy.sharding_group %arg0 group_id=0 : tensor<8x16xf32>
    sdy.sharding_group %arg1 group_id=0 : tensor<8x16xf32>
    return %arg0, %arg1 : tensor<8x16xf32>, tensor<8x16xf32>
  }
}
