#alias = dense<[1, 2]> : tensor<2xi64>
module @literals {
  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2x2xi8>, tensor<2xf32>, tensor<3xbf16>, tensor<2xcomplex<f32>>, tensor<12xi1>, tensor<2xi4>, tensor<0xf32>, tensor<3xui16>, tensor<2xf64>, tensor<2x2xf8E4M3FN>, tensor<4xi1>, tensor<1000000x1000000xf32>) {
    %c = stablehlo.constant dense<[[1, -2], [127, -128]]> : tensor<2x2xi8>
    %cst = stablehlo.constant dense<[0x7FC00001, 0xFF800000]> : tensor<2xf32>
    %cst_0 = stablehlo.constant dense<[1.000000e+00, -2.500000e-01, 3.389530e+38]> : tensor<3xbf16>
    %cst_1 = stablehlo.constant dense<[(1.000000e+00,-2.000000e+00), (0x7F800000,0.000000e+00)]> : tensor<2xcomplex<f32>>
    %c_2 = stablehlo.constant dense<"0x0D08"> : tensor<12xi1>
    %c_3 = stablehlo.constant dense<"0xF807"> : tensor<2xi4>
    %cst_4 = stablehlo.constant dense<> : tensor<0xf32>
    %c_5 = stablehlo.constant dense<"0x0100FFFF0002"> : tensor<3xui16>
    %cst_6 = stablehlo.constant dense<[3.1415926535897931, 4.9406564584124654E-324]> : tensor<2xf64>
    %cst_7 = stablehlo.constant dense<1.500000e+00> : tensor<2x2xf8E4M3FN>
    %c_8 = stablehlo.constant dense<[true, false, true, true]> : tensor<4xi1>
    %cst_9 = stablehlo.constant dense<7.000000e+00> : tensor<1000000x1000000xf32>
    return %c, %cst, %cst_0, %cst_1, %c_2, %c_3, %cst_4, %c_5, %cst_6, %cst_7, %c_8, %cst_9 : tensor<2x2xi8>, tensor<2xf32>, tensor<3xbf16>, tensor<2xcomplex<f32>>, tensor<12xi1>, tensor<2xi4>, tensor<0xf32>, tensor<3xui16>, tensor<2xf64>, tensor<2x2xf8E4M3FN>, tensor<4xi1>, tensor<1000000x1000000xf32>
  }
}
