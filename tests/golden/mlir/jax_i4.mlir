module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32>) -> (tensor<8x16xf8E4M3FN> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<8x16xf32>) -> tensor<8x16xi4>
    %1 = stablehlo.convert %0 : (tensor<8x16xi4>) -> tensor<8x16xf8E4M3FN>
    return %1 : tensor<8x16xf8E4M3FN>
  }
}
