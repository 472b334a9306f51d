module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32>) -> (tensor<8x16xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<8x16xcomplex<f32>> {jax.result_info = "result[1]"}, tensor<8x16xf32> {jax.result_info = "result[2]"}, tensor<8x16xcomplex<f32>> {jax.result_info = "result[3]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<8x16xf32>) -> tensor<8x16xcomplex<f32>>
    %cst = stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<8x16xcomplex<f32>>
    %2 = stablehlo.multiply %0, %1 : tensor<8x16xcomplex<f32>>
    %3 = stablehlo.convert %arg0 : (tensor<8x16xf32>) -> tensor<8x16xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<(0.000000e+00,1.000000e+00)> : tensor<complex<f32>>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<8x16xcomplex<f32>>
    %5 = stablehlo.multiply %4, %3 : tensor<8x16xcomplex<f32>>
    %6 = stablehlo.exponential %5 : tensor<8x16xcomplex<f32>>
    %7 = stablehlo.convert %arg0 : (tensor<8x16xf32>) -> tensor<8x16xcomplex<f32>>
    %cst_1 = stablehlo.constant dense<(0.000000e+00,1.000000e+00)> : tensor<complex<f32>>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<8x16xcomplex<f32>>
    %9 = stablehlo.add %7, %8 : tensor<8x16xcomplex<f32>>
    %10 = stablehlo.abs %9 : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xf32>
    %11 = stablehlo.convert %arg0 : (tensor<8x16xf32>) -> tensor<8x16xcomplex<f32>>
    %cst_2 = stablehlo.constant dense<(0.000000e+00,1.000000e+00)> : tensor<complex<f32>>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<complex<f32>>) -> tensor<8x16xcomplex<f32>>
    %13 = stablehlo.add %11, %12 : tensor<8x16xcomplex<f32>>
    %14 = stablehlo.real %13 : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xf32>
    %15 = stablehlo.imag %13 : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xf32>
    %16 = stablehlo.negate %15 : tensor<8x16xf32>
    %17 = stablehlo.complex %14, %16 : tensor<8x16xcomplex<f32>>
    return %2, %6, %10, %17 : tensor<8x16xcomplex<f32>>, tensor<8x16xcomplex<f32>>, tensor<8x16xf32>, tensor<8x16xcomplex<f32>>
  }
}
