module @jit_grouped_matmul_transposed attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x256xf32>, %arg1: tensor<256x128xf32>, %arg2: tensor<3xi32>) -> (tensor<3x128x128xf32> {jax.result_info = "result"}) {
    %0 = call @tgmm(%arg0, %arg1, %arg2) : (tensor<128x256xf32>, tensor<256x128xf32>, tensor<3xi32>) -> tensor<3x128x128xf32>
    return %0 : tensor<3x128x128xf32>
  }
  func.func private @tgmm(%arg0: tensor<128x256xf32>, %arg1: tensor<256x128xf32>, %arg2: tensor<3xi32>) -> tensor<3x128x128xf32> {
    %c = stablehlo.constant dense<0> : tensor<1xi32>
    %cst = stablehlo.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
    %0 = stablehlo.reshape %c : (tensor<1xi32>) -> tensor<i32>
    %c_0 = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.add %0, %c_0 : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.subtract %1, %c_1 : tensor<i32>
    %3 = call @cumsum(%arg2) : (tensor<3xi32>) -> tensor<3xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %5 = stablehlo.concatenate %4, %3, dim = 0 : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %c_3 = stablehlo.constant dense<128> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %7 = stablehlo.add %3, %6 : tensor<3xi32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %9 = stablehlo.subtract %7, %8 : tensor<3xi32>
    %c_5 = stablehlo.constant dense<128> : tensor<i32>
    %10 = call @floor_divide(%9, %c_5) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_6 = stablehlo.constant dense<128> : tensor<i32>
    %11 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %12 = stablehlo.multiply %10, %11 : tensor<3xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %13 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %14 = stablehlo.slice %3 [0:2] : (tensor<3xi32>) -> tensor<2xi32>
    %15 = stablehlo.concatenate %13, %14, dim = 0 : (tensor<1xi32>, tensor<2xi32>) -> tensor<3xi32>
    %c_8 = stablehlo.constant dense<128> : tensor<i32>
    %16 = call @floor_divide(%15, %c_8) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_9 = stablehlo.constant dense<128> : tensor<i32>
    %17 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %18 = stablehlo.multiply %16, %17 : tensor<3xi32>
    %19 = stablehlo.subtract %12, %18 : tensor<3xi32>
    %c_10 = stablehlo.constant dense<0> : tensor<i32>
    %20 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %21 = stablehlo.compare EQ, %arg2, %20, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_11 = stablehlo.constant dense<0> : tensor<i32>
    %22 = call @_where_1(%21, %c_11, %19) : (tensor<3xi1>, tensor<i32>, tensor<3xi32>) -> tensor<3xi32>
    %c_12 = stablehlo.constant dense<128> : tensor<i32>
    %23 = call @floor_divide(%22, %c_12) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_13 = stablehlo.constant dense<0> : tensor<i32>
    %24 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %25 = stablehlo.compare EQ, %arg2, %24, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_14 = stablehlo.constant dense<1> : tensor<i32>
    %26 = call @_where_1(%25, %c_14, %23) : (tensor<3xi1>, tensor<i32>, tensor<3xi32>) -> tensor<3xi32>
    %27 = stablehlo.iota dim = 0 : tensor<3xi32>
    %28 = call @_roll_static(%26) : (tensor<3xi32>) -> tensor<3xi32>
    %c_15 = stablehlo.constant dense<0> : tensor<i32>
    %29 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %30 = "stablehlo.scatter"(%28, %29, %c_16) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<3xi32>, tensor<1xi32>, tensor<i32>) -> tensor<3xi32>
    %31 = call @cumsum(%30) : (tensor<3xi32>) -> tensor<3xi32>
    %c_17 = stablehlo.constant dense<0> : tensor<i32>
    %32 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %c_18 = stablehlo.constant dense<0> : tensor<i32>
    %33 = stablehlo.broadcast_in_dim %c_18, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %34 = stablehlo.compare LT, %31, %33, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_19 = stablehlo.constant dense<4> : tensor<i32>
    %35 = stablehlo.broadcast_in_dim %c_19, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %36 = stablehlo.add %31, %35 : tensor<3xi32>
    %37 = stablehlo.select %34, %36, %31 : tensor<3xi1>, tensor<3xi32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %c_20 = stablehlo.constant dense<1> : tensor<i32>
    %39 = stablehlo.broadcast_in_dim %c_20, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %40 = "stablehlo.scatter"(%32, %38, %39) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      %131 = stablehlo.add %arg3, %arg4 : tensor<i32>
      stablehlo.return %131 : tensor<i32>
    }) : (tensor<4xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %41 = call @cumsum_2(%40) : (tensor<4xi32>) -> tensor<4xi32>
    %c_21 = stablehlo.constant dense<1> : tensor<i32>
    %42 = stablehlo.broadcast_in_dim %c_21, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %43 = stablehlo.subtract %41, %42 : tensor<4xi32>
    %44 = call @_take(%27, %43) : (tensor<3xi32>, tensor<4xi32>) -> tensor<4xi32>
    %45 = stablehlo.slice %5 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %c_22 = stablehlo.constant dense<128> : tensor<i32>
    %46 = call @remainder(%45, %c_22) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_23 = stablehlo.constant dense<0> : tensor<i32>
    %47 = stablehlo.broadcast_in_dim %c_23, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %48 = stablehlo.compare EQ, %46, %47, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_24 = stablehlo.constant dense<0> : tensor<i32>
    %49 = stablehlo.broadcast_in_dim %c_24, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %50 = stablehlo.compare EQ, %arg2, %49, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %51 = stablehlo.or %48, %50 : tensor<3xi1>
    %c_25 = stablehlo.constant dense<0> : tensor<i32>
    %52 = stablehlo.broadcast_in_dim %c_25, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %53 = stablehlo.compare EQ, %arg2, %52, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_26 = stablehlo.constant dense<0> : tensor<i32>
    %54 = call @_where_6(%53, %c_26, %51) : (tensor<3xi1>, tensor<i32>, tensor<3xi1>) -> tensor<3xi32>
    %55 = stablehlo.slice %5 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %c_27 = stablehlo.constant dense<128> : tensor<i32>
    %56 = call @floor_divide(%55, %c_27) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_28 = stablehlo.constant dense<2> : tensor<i32>
    %57 = call @_where_7(%54, %c_28, %56) : (tensor<3xi32>, tensor<i32>, tensor<3xi32>) -> tensor<3xi32>
    %58 = stablehlo.convert %57 : (tensor<3xi32>) -> tensor<3xf32>
    %cst_29 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %60 = call @_ptp(%cst) : (tensor<2xf32>) -> tensor<f32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %61 = stablehlo.compare EQ, %60, %cst_30, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %62 = stablehlo.slice %cst [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %63 = stablehlo.reshape %62 : (tensor<1xf32>) -> tensor<f32>
    %cst_31 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %64 = stablehlo.subtract %63, %cst_31 : tensor<f32>
    %65 = stablehlo.slice %cst [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %66 = stablehlo.reshape %65 : (tensor<1xf32>) -> tensor<f32>
    %67 = call @_where_8(%61, %64, %66) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %68 = call @_ptp(%cst) : (tensor<2xf32>) -> tensor<f32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %69 = stablehlo.compare EQ, %68, %cst_32, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %70 = stablehlo.slice %cst [1:2] : (tensor<2xf32>) -> tensor<1xf32>
    %71 = stablehlo.reshape %70 : (tensor<1xf32>) -> tensor<f32>
    %cst_33 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %72 = stablehlo.add %71, %cst_33 : tensor<f32>
    %73 = stablehlo.slice %cst [1:2] : (tensor<2xf32>) -> tensor<1xf32>
    %74 = stablehlo.reshape %73 : (tensor<1xf32>) -> tensor<f32>
    %75 = call @_where_8(%69, %72, %74) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %76 = call @_linspace(%67, %75) : (tensor<f32>, tensor<f32>) -> tensor<3xf32>
    %77 = call @searchsorted(%76, %58) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi32>
    %78 = stablehlo.slice %76 [2:3] : (tensor<3xf32>) -> tensor<1xf32>
    %79 = stablehlo.reshape %78 : (tensor<1xf32>) -> tensor<f32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %81 = stablehlo.compare EQ, %58, %80, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %c_34 = stablehlo.constant dense<2> : tensor<i32>
    %82 = call @_where_1(%81, %c_34, %77) : (tensor<3xi1>, tensor<i32>, tensor<3xi32>) -> tensor<3xi32>
    %cst_35 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %c_36 = stablehlo.constant dense<0> : tensor<i32>
    %84 = stablehlo.broadcast_in_dim %c_36, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %85 = stablehlo.compare LT, %82, %84, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_37 = stablehlo.constant dense<3> : tensor<i32>
    %86 = stablehlo.broadcast_in_dim %c_37, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %87 = stablehlo.add %82, %86 : tensor<3xi32>
    %88 = stablehlo.select %85, %87, %82 : tensor<3xi1>, tensor<3xi32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %90 = "stablehlo.scatter"(%83, %89, %59) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %131 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %131 : tensor<f32>
    }) : (tensor<3xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<3xf32>
    %91 = stablehlo.slice %90 [1:3] : (tensor<3xf32>) -> tensor<2xf32>
    %cst_38 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %92 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %93 = stablehlo.add %91, %92 : tensor<2xf32>
    %94 = stablehlo.iota dim = 0 : tensor<2xi32>
    %95 = stablehlo.convert %93 : (tensor<2xf32>) -> tensor<2xi32>
    %96 = call @_roll_static_11(%95) : (tensor<2xi32>) -> tensor<2xi32>
    %c_39 = stablehlo.constant dense<0> : tensor<i32>
    %97 = stablehlo.broadcast_in_dim %c_39, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_40 = stablehlo.constant dense<0> : tensor<i32>
    %98 = "stablehlo.scatter"(%96, %97, %c_40) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<2xi32>, tensor<1xi32>, tensor<i32>) -> tensor<2xi32>
    %99 = call @cumsum_12(%98) : (tensor<2xi32>) -> tensor<2xi32>
    %c_41 = stablehlo.constant dense<0> : tensor<i32>
    %100 = stablehlo.broadcast_in_dim %c_41, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %c_42 = stablehlo.constant dense<0> : tensor<i32>
    %101 = stablehlo.broadcast_in_dim %c_42, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %102 = stablehlo.compare LT, %99, %101, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %c_43 = stablehlo.constant dense<4> : tensor<i32>
    %103 = stablehlo.broadcast_in_dim %c_43, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %104 = stablehlo.add %99, %103 : tensor<2xi32>
    %105 = stablehlo.select %102, %104, %99 : tensor<2xi1>, tensor<2xi32>
    %106 = stablehlo.broadcast_in_dim %105, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %c_44 = stablehlo.constant dense<1> : tensor<i32>
    %107 = stablehlo.broadcast_in_dim %c_44, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %108 = "stablehlo.scatter"(%100, %106, %107) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      %131 = stablehlo.add %arg3, %arg4 : tensor<i32>
      stablehlo.return %131 : tensor<i32>
    }) : (tensor<4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<4xi32>
    %109 = call @cumsum_2(%108) : (tensor<4xi32>) -> tensor<4xi32>
    %c_45 = stablehlo.constant dense<1> : tensor<i32>
    %110 = stablehlo.broadcast_in_dim %c_45, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %111 = stablehlo.subtract %109, %110 : tensor<4xi32>
    %112 = call @_take_14(%94, %111) : (tensor<2xi32>, tensor<4xi32>) -> tensor<4xi32>
    %113 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %114 = stablehlo.compare LT, %44, %113, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %115 = stablehlo.convert %114 : (tensor<4xi1>) -> tensor<4xi32>
    %c_46 = stablehlo.constant dense<0> : tensor<i32>
    %116 = stablehlo.reduce(%115 init: %c_46) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    %117 = stablehlo.negate %116 : tensor<i32>
    %118 = call @_roll_dynamic(%44, %117) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %119 = stablehlo.negate %116 : tensor<i32>
    %120 = call @_roll_dynamic(%112, %119) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %121 = stablehlo.iota dim = 0 : tensor<3xi32>
    %122 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %123 = stablehlo.compare LE, %121, %122, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %124 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %125 = stablehlo.compare GE, %121, %124, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %126 = stablehlo.and %123, %125 : tensor<3xi1>
    %c_47 = stablehlo.constant dense<0> : tensor<i32>
    %127 = call @_where_16(%126, %26, %c_47) : (tensor<3xi1>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_48 = stablehlo.constant dense<0> : tensor<i32>
    %128 = stablehlo.reduce(%127 init: %c_48) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %129 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<128x256xf32>) -> tensor<256x128xf32>
    %130 = stablehlo.custom_call @tpu_custom_call(%128, %5, %118, %120, %c, %129, %arg1) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzvUgFNTElSMjMuMC4wZ2l0AAFFCQEDBQcBAwkDMQsNDxETFRcZGx0fISMlJykrLS8xMzU3OQNaCN4HIQH7CwcLCwsXExsLCxMTFwsTCxcLCwsTCxMTExMTFwsLFwsLExMTDxMTCwsLEwsLCxMTCwsLCxMLCxMLExMTExMTExcLCxMTF2UPDwtTCwsLExMLExMTCxMLEwsTExcLCwsLCxMTExMTExMTExMTCxMLCxMTExMTExMTExMTFxcFDZFhYY1NKgIBygULCxMbCwsTExMXCwsTFxcLCxMXCwsTExMTExMXExcXEwsTExcTEycbCw97CxsLhaULcwsLCwsLIx8LHwsjC3MbGx8LExMLHxMfDxcLEx8LExMTEx8fEx8PExMXCx8TDxMPHxMPHxMTDw8TEx8XCxcLEx8PExMTHxMTCx8PExMPExMPHxMTDx8TEw8fDxMTExMfExMTEx8TExMfExMTEx8TEw8TDx8TEw8TEw8fDxsLDxcLFwsPHxMTHxMTExMfExMfExMTHxMTExMfExMTEx8TEw8fDxMTHxMfEw8fJ1MTEw8fJxMTDx8TDx8TEw8fExMPHxMXEx8LIxcXDx8TDx8XDx8PFw8fDxcXDx8TEw8nExMPEw8TEw8TEw8XExcXExMTExMXExMXExMXFxMTEw8fExMTHw8TEx8TExMfExMPJxsLUxcLFwsXHxMTHxMTExMTExMnEw8XHwsXCxcnMwsLCxsLExMXJxMPH1MTDxMTDxMPBwVZWQEhDwcbHwsPHwcbKx8vIzszNwLmKAU7HwU9BT8FQQMDHzIDHQmSAwMDRgPWBwVDBUUdEZYFHRFGBgMDH2oDBUcda3IFBUkDAx+uAwVLBU0FTx0JXgMFUQMDK5EdCTYEHWU6BB1lvgQdZVoFHY4C+gYFUwVVHSIDJgMFVwVZHQmeAx0J9gMdEWYFEQkAHWuqBx1rzgcFWwVdBV8VVgMpBWEFYwVlHQkWBB0JJgQFZwVpBWsFbR0FXgUFbwVxFSYCFQVzFS4CFRU+AhUVUgIVFWICFR0FwgYdEcoGHQXOBgMDH94GBXUFdx0RCgcdBV4HHY4CsgdhZmZpbmVfbWFwPChkMCkgLT4gKGQwKT4AEQsREQsFBXkjCwUhgAAAAAAAAACAAAAAAAAAAAV7BX0NHR0FGgMdBTYDBX8dBW4DHQWCAx0FigMFgQMDK48Fgx0/sgMFhR1X1gMdBdoDAwMr+gMFhwWJBYsFjQWPHQU+BB0FUgQdG2YEHQV2BB0JngQdCboEHQniBB0/5gQdGwYFHQUSBR0JVgUFkR3ZegUFkwWVIwEBAR0FhgUdE5IFHQWaBR0TpgUdG6oFHROyBR0FtgUdE8IFHQXGBR0T0gUDAx/WBR0OAtoFI3RwdS5kaW1lbnNpb25fc2VtYW50aWNzPGFyYml0cmFyeT4AI3RwdS5tZW1vcnlfc3BhY2U8c21lbT4AI3RwdS5tZW1vcnlfc3BhY2U8dm1lbT4AI3RwdS5kaW1lbnNpb25fc2VtYW50aWNzPHBhcmFsbGVsPgAjdHB1LmNvcmVfdHlwZTx0Yz4AI3RwdS5kb3RfZGltZW5zaW9uX251bWJlcnM8WzFdLCBbMF0sIFswXSwgWzFdLCBbMCwgMCwgMSwgMV0sIFtdLCBbXT4ABZcFmR0T4gUDA+YF6gUFmwWdHRP6BR0b/gUdEwYGHTYCCgYFnwWhHRMSBgMDKxYGHUoCGgYFowWlHRMiBgMDKyYGBacFqR0TNgYdBToGHQVKBh0bVgYdBV4GHQVqBh0OAnYGHRuOBh02ApoGHUoCpgYdEeoGBasdES4HHRE6Bx1uB3IHHRF+Bx0RpgcDByNJ3bYH3+EDA64CsgIFrRELLQMRugK+AjnCAs4C0gLWAo/aApE73gLiAgYC5gLqAgWvAQcCAvv7DRthZmZpbmVfbWFwPChkMCwgZDEpIC0+IChkMCwgZDEpPgBhZmZpbmVfbWFwPChkMCwgZDEsIGQyKSAtPiAoZDAsIGQxLCBkMik+AAWxIwsHMQEAAAAAAAAAAQAAAAAAAAAAAAAAAAAAgAWzBbUFtwW5BbsBB+4C9gL+AgMFT/ICUZUJkwMFT/oCUZUJlwMFTwIDUQYDCZkjCwcxAQAAAAAAAACAAAAAAAAAAIAAAAAAAAAAAwU5mzuTAwU5mzuXAwU5FgM7mQ0fHQceAxU9KgMFvS0BB0YLFz0dUy4DLQEHigsXOxEDAR06Az4DBb8dU0IDLQEHigtBXwXBHT9OAx2hUgMVVWIDHSdaAy0BByoEE0EtAQduChGPHVNmAy0BB4oLF18RAQEdB3IDFT12Ax16A34DBcMtAQdeCxc9HQeGAxU9PR0HjgMVDQ0tAQc+Chk9HUGaAx2pQy0BB0IKO1EdQaYDHa2qAxVDQxEBBR2xtgMdCboDLQEHQgpVax3CA8YDBcUdygPOAwXHHQnSAy0BB0IKJ3MdWQMdB94DFQ3iAx0J5gMtAQdGCiNRHVvuAx3yA0UFyS0BB04KT2cRCwEdWwIEHbkGBBVFRR27DgQdvRIEFV1dLQEHTgprkR2/HgQdwSIEFV9fLQEHTgoxkx1hLgQdYzIEFS8vLQEHVgoLPx1nLx0HQgQVDUYEFUoEKR0nTgQtAQceBBs/HQdWBBUNWgQVXgQpHSdiBC0BByIEIU8dI2oEFW4EKR0ncgQtAQcmBDlRHQd6BBUNfgQVggQpHSeGBC0BByYEHVMdP44EHaGSBBVVVR1BmgQdqcstAQduChGXHUGmBB2tqgQVQ8sdYbIEHWO2BBUvzS0BB3oKCy8dZ80DA8YEygQFyxEBCR3SBNYEBc0d2gTeBAXPFc/PLQEHAgtDZx2x6gQdCe4ELQEHAgtDbx1b9gQdufoEFUX+BB0JAgUtAQcCCytxHSMKBR0JDgUtAQcGC22DHQcWBRUNGgUdCR4FLQEHCgsjUR27JgUdvSoFFV0uBR0JMgUtAQcSC2+VHb86BR3BPgUVX0IFHQlGBS0BBxILMZcdYU4FHWNSBRUv1y0BBxoLCz8dZ9cdB2IFFUdqBS0BB+oKDS0d2W4FLQEHIgsjQx1tdgUV29stAQcuCw0dAwcjSd2CBd/hIwEJIQEAAAABAAAAAwAAAAAAAAAdB4oFFQ2OBRXlFS0BB1oEGz8tAQmCCiOWCg8dB54FFQ2iBRXpFS0BB14EIU8dI64FFe0VLQEHYgQ5UR0HugUVDb4FFfEVLQEHYgQdUx0HygUVDc4FFfUVLQEHZgQTOREBAgQdEgLeBRUWAhUtAQdmBBNDBdEjAQMJAAAAAB0eAvIFHSIC9gUVb28tAQdqBBNzHXECBhVzcy0BB2oEE4EdOgIOBhV1dS0BB24EM1kRCxUdTgIeBhV3dy0BB24EXX0RCwkdWgIuBh1eAjIGFXl5LQEHbgQTfx0HPgYVDUIGFeUXLQEJmgojrgoPHQdOBhUNUgYV6RcdI1oGFe0XHQdiBhUNZgYV8RcdB24GFQ1yBhX1Fx0SAnoGFRYCFx0eAoIGHSIChgYVb4oGFSYCFx1xkgYVc5YGFS4CFx06Ap4GFXWiBhU+AhcdTgKqBhV3rgYVUgIXHVoCtgYdXgK6BhV5vgYVYgIXHQfGBhV9fS0BB7YKJzcdB9IGFX3WBh0R2gYtAQe6Cic3Ew8BHSXmBh2DigItAQfKChVVHSXyBh2F9gYVN4oCLQEHXgozaR1XAgcdWQYHFYeHLQEJvgonzgoPAwMSBxYHBdMjCwUhAQAAAAAAAAAAAAAAAAAAAB0eByIHBdUdJgcqBwXXFZICkgItAQfOChEtHSU2Bx2DlgItAQfeChVVHSVCBx2FRgcVN5YCHVdOBx1ZUgcVh1YHHRFaBy0BCdIKJ+IKDx0HYgcVR0cDAx9qByUHCQAAAAAF2R12B3oHBdsVngKeAi0BCeoKNfoKDwMHhgcKAooHSY4HSQXdBd8F4QMDlgfaBwXjHRueBx1xogcVogKiAi0BCeoKDfoKDx1trgcVi0ctAQdeCg0tIwEJIQEAAAABAAAAAgAAAAAAAAAdJb4HHYM3HSXGBx2FygcVNzcdbdIHFYuLI2FyaXRoLm92ZXJmbG93PG5vbmU+ACNhcml0aC5mYXN0bWF0aDxub25lPgABAgIDF/0DEQGNJwUCBAIEDwEJAQIEJwUCBAIEAQsX/QMFAY0X/wUCBAIED8YCJwUCBAIECRf/BwUCBAIED8oCJwcFAgQCBA8FFwEBAQUFBRETExcTAQUPAQEBBQUFEQUBAQUPAQEBBQUFEQcBAQEEChQFAREDqgIHAwERExEDtgIHA3HHFwEDAQMBAwUDBQMFAxEDEwMTAxcDEwMHBqcDAwMFBQanAwEFCRcDA5YDGQMBCQeiA6sDCQUFGwMDryEDARUHrw8DAQUFHwMDvgMZAwEZBrMDAQcdISMHBrUDAwMlBQa1AwEFCScDA+oDGQMBCQf+A7cDCQUFKwkHCgQtAwkFKRkhBhoEAwkFLS8bBioEAwEDMQMDMRkDAQkHMS0DCQUzNR0UMQM3CQMLHQMDugeBAw8LBsIHAwcDcQMDTQsDAwMDTQsDAw0GTQMHBxV1dx8FTaYCCXMVdXcRADEDAQURADEHBsMDAwMFBQbDAwEFCTkHBsUDAwM7BQbFAwEFBz0DA8chAwEPB8cPAwEFO0EHBskDAwNDBQbJAwEFB0UVB4oEDwMBBUc/AwOWBBkDAQkHogSrAwkFSUsbBq4EAwEDTQMDMxkDAQkHMy0DCQVPUR0UMwNTCQN9AgIHBuMDAwMFBQbjAwEFCXEHBucDAwNzBQbnAwEFB3UDA+shAwEPB+sPAwEFc3kHBu8DAwN7BQbvAwEFB30HBvMDAwMFBQbzAwEFC4EDA/n3AwElB/kPAwEFg4UnA+4FGgIDDQsGKgIDDQOHDwcqAg8DDQWJiwsGMgIDDQN3CQcyAkICAxUFjY8LBkYCAw0DfwkHRgJWAgMVBY2TKQYqBgMVBZGVBwZmAgMDAwUFBmYCAwEFCZkHBmoCAwMDmwUGagIDAQUHnQMDbgIhAwEPB24CDwMBBZuhBwZyAgMDA6MFBnICAwEFB6UHBnYCAwMDBQUGdgIDAQULqQMDegL3AwElB3oCDwMBBautJwN+BhoCAw0LBn4CAw0Drw8HfgIPAw0FsbMLBoICAw0DnwkHggJCAgMVBbW3CwaGAgMNA6cJB4YCVgIDFQW1uykGsgYDFQW5vQMDewsDAwMDewsDAw0GewMHBw/BwwMDfwsDAwMDfwsDAw0GfwMHBxHHyQMD4gaBAw8LBu4GAwcDzRkG/gYDBwe/xc8tBxoHDgcDBwPRAwMyB4EDDwsGPgcDBwPVGQZKBwMHB5fL1wMDiQsDAwMDiQsDAw0GiQMHBxXb3QMDmgJmBwMHLweaAoIHAwcH09nhMQeaB5IHAwcF3+MDA0sLAwMDA0sLAwMNBksDBwcV5+kfBUumAgnlFefpEQAzAwEFEQAzKwPOBMIEAwEDA9EhAwEVB9EPAwEFVVcJB/IEtwMJBQVZAwPTIQMBDwfTDwMBBQVdGQazAwEHWwVfBwbVAwMDYQUG1QMBBQljCQciBS0DCQUZZSEGNgUDCQVbZxsGSgUDAQNpAwM1GQMBCQc1LQMJBWttHRQ1A28JAxMtAwNpCwMDAwNpCwMDDQZpAwcHFXFzAwMdCwMDAwMdCwMDAwMdCwMDDQYdAxkJE3d5eyMGHQMHA30jBh0DGQN1HwUdfgULgRN3eXsRADUDAQURADUXAAMTEQMKAwcDFRMPAQMBAwEDBQMFAwUDEQMHBqUDAwMFBQalAwEFCw8DAwMZAwEXBAMFEQMTEQMOAwcDFRMPAQMBAwEDBQMFAwUDEQMHBqMDAwMFBQajAwEFCw8DAwMZAwEXBAMFEQETEQMSAwcDGx8PAQMBAwEDBQMFAwUDEQMHBp0DAwMFBQadAwEFCQ8DA58LAwMFBp8DAQUNExUHSgMPAwEFERUDAwMZAwEXBAMHFwMBBgMBBQEAXhjlEx0dJTEbKRcZFzUdCQcJC0kdCUkdHQ8jISMpLVERCw0JDQkVDQkLESlXDQkNCQ0JDQcRGRkZRSMRFQ0LDVUtCSUVSR0lCQsTHRUhJQkNCyFFKxELDxcXHSkXExclFSMPGRsZFxUVFxkjFyMZHw8NCR0RYnVpbHRpbgBzdGFibGVfbW9zYWljAHRwdQBhcml0aABtb2R1bGUAYXJpdGguY29uc3RhbnQAbWVtcmVmLmxvYWQAYXJpdGguaW5kZXhfY2FzdABhcml0aC5jbXBpAHZlY3Rvci5icm9hZGNhc3QAdmVjdG9yLmxvYWQAYXJpdGguYWRkaQBzY2YueWllbGQAZnVuYy5mdW5jAGFyaXRoLnN1YmkAZnVuYy5yZXR1cm4AYXJpdGguc2VsZWN0AGFyaXRoLmV4dHVpAHNjZi5pZgB0cHUudmVjdG9yX3N0b3JlAGFyaXRoLm9yaQB2ZWN0b3Iuc2hhcGVfY2FzdABhcml0aC5tdWxpAHRwdS5pb3RhAGFyaXRoLmFuZGkAdHB1Lml0ZXJhdGlvbl9ib3VuZAB0cHUudHJhbnNwb3NlAHRwdS5tYXRtdWwAYXJpdGguYWRkZgBnbW0ucHkAZ2V0OgBnZXQvZ2V0AHRnbW0uPGxvY2Fscz4ua2VybmVsAHRnbW0uPGxvY2Fscz4ua2VybmVsLjxsb2NhbHM+Ll9kbwBfZ2V0X3N0b3JlX21hc2sAYWRkOgB2YWx1ZQBhZGQAYnJvYWRjYXN0X2luX2RpbToAX2dldF9ncm91cF9zaXplAHByZWRpY2F0ZQBmdW5jdGlvbl90eXBlAHN5bV9uYW1lAHN1YjoAZ3Q6AHRyYW5zZm9ybV9pbmRpY2VzAHdpbmRvd19ib3VuZHMAdGdtbS48bG9jYWxzPi5vdXRfdHJhbnNmb3JtX2luZGljZXMAc2VsZWN0X246AHNlbGVjdF9uL3NlbGVjdF9uAGVxOgBjb252ZXJ0X2VsZW1lbnRfdHlwZToAY29udmVydF9lbGVtZW50X3R5cGUvY29udmVydF9lbGVtZW50X3R5cGUAY29uZDoAY29uZABzd2FwOgBzd2FwL3N3YXAAYWRkL2FkZABicm9hZGNhc3RfaW5fZGltAGJyb2FkY2FzdF9pbl9kaW0vYnJvYWRjYXN0X2luX2RpbQB0cmFuc2Zvcm1fMAB0cmFuc2Zvcm1fMQB0cmFuc2Zvcm1fMgBzdWIvc3ViAGd0AGd0L2d0AHN1YgBlcS9lcQBuZToAbmUvbmUAb3I6AG9yL29yAHRnbW0uPGxvY2Fscz4ua2VybmVsLjxsb2NhbHM+Ll9zdG9yZV9hY2N1bQBvcGVyYW5kU2VnbWVudFNpemVzAHN0cmlkZXMAbXVsOgBtdWwAaW90YToAaW90YS9pb3RhAGdlOgBnZS9nZQBsdDoAbHQvbHQAYW5kOgBhbmQvYW5kAHRnbW0uPGxvY2Fscz4ua2VybmVsLjxsb2NhbHM+Ll96ZXJvX2FjYwBzdGFibGVfbW9zYWljLnZlcnNpb24AZGltZW5zaW9uX3NlbWFudGljcwBpdGVyYXRpb25fYm91bmRzAHNjYWxhcl9wcmVmZXRjaABzY3JhdGNoX29wZXJhbmRzAGtlcm5lbAB0cHUuY29yZV90eXBlAHdpbmRvd19wYXJhbXMAdGdtbS48bG9jYWxzPi5saHNfdHJhbnNmb3JtX2luZGljZXMAZ2V0AG92ZXJmbG93RmxhZ3MAdGdtbS48bG9jYWxzPi5yaHNfdHJhbnNmb3JtX2luZGljZXMAaml0OgBqaXQAZXEAZGltAG51bV9wcm9ncmFtczoAbnVtX3Byb2dyYW1zL251bV9wcm9ncmFtcwBkaW1lbnNpb25zAHBlcm11dGF0aW9uAHRyYW5zcG9zZToAdHJhbnNwb3NlL3RyYW5zcG9zZQBkb3RfZ2VuZXJhbDoAZG90X2dlbmVyYWwvZG90X2dlbmVyYWwAZGltZW5zaW9uX251bWJlcnMAdHJhbnNwb3NlX2xocwB0cmFuc3Bvc2VfcmhzAGZhc3RtYXRoAA==\22, \22cost_estimate\22: {\0A\22bytes_accessed\22:458752,\0A\22flops\22:8388608,\0A\22remote_bytes_transferred\22:0,\0A\22transcendentals\22:0\0A}, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", kernel_name = "kernel", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<> : tensor<0xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[2, 1, 0]> : tensor<3xindex>]} : (tensor<i32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<1xi32>, tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<3x128x128xf32>
    return %130 : tensor<3x128x128xf32>
  }
  func.func private @cumsum(%arg0: tensor<3xi32>) -> tensor<3xi32> {
    %0 = call @cumsum_0(%arg0) : (tensor<3xi32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func private @cumsum_0(%arg0: tensor<3xi32>) -> tensor<3xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    return %1 : tensor<3xi32>
  }
  func.func private @floor_divide(%arg0: tensor<3xi32>, %arg1: tensor<i32>) -> tensor<3xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %2 = stablehlo.divide %arg0, %1 : tensor<3xi32>
    %3 = stablehlo.sign %arg0 : tensor<3xi32>
    %4 = stablehlo.sign %0 : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %6 = stablehlo.compare NE, %3, %5, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %8 = stablehlo.remainder %arg0, %7 : tensor<3xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %10 = stablehlo.compare NE, %8, %9, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %11 = stablehlo.and %6, %10 : tensor<3xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %12 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %13 = stablehlo.subtract %2, %12 : tensor<3xi32>
    %14 = call @_where(%11, %13, %2) : (tensor<3xi1>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
    return %14 : tensor<3xi32>
  }
  func.func private @_where(%arg0: tensor<3xi1>, %arg1: tensor<3xi32>, %arg2: tensor<3xi32>) -> tensor<3xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func private @_where_1(%arg0: tensor<3xi1>, %arg1: tensor<i32>, %arg2: tensor<3xi32>) -> tensor<3xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %2 = stablehlo.select %arg0, %1, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %2 : tensor<3xi32>
  }
  func.func private @_roll_static(%arg0: tensor<3xi32>) -> tensor<3xi32> {
    %0 = stablehlo.slice %arg0 [2:3] : (tensor<3xi32>) -> tensor<1xi32>
    %1 = stablehlo.slice %arg0 [0:2] : (tensor<3xi32>) -> tensor<2xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<2xi32>) -> tensor<3xi32>
    return %2 : tensor<3xi32>
  }
  func.func private @cumsum_2(%arg0: tensor<4xi32>) -> tensor<4xi32> {
    %0 = call @cumsum_3(%arg0) : (tensor<4xi32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
  func.func private @cumsum_3(%arg0: tensor<4xi32>) -> tensor<4xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 4>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    return %1 : tensor<4xi32>
  }
  func.func private @_take(%arg0: tensor<3xi32>, %arg1: tensor<4xi32>) -> tensor<4xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %c_0 = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4xi32>
    %4 = call @_where_4(%1, %3, %arg1) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %c_1 = stablehlo.constant dense<2> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<4x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [1] : (tensor<4x1xi1>, tensor<i1>) -> tensor<4xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<3xi32>, tensor<4x1xi32>) -> tensor<4xi32>
    %c_4 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %14 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %15 = stablehlo.select %12, %13, %14 : tensor<4xi1>, tensor<4xi32>
    return %15 : tensor<4xi32>
  }
  func.func private @_where_4(%arg0: tensor<4xi1>, %arg1: tensor<4xi32>, %arg2: tensor<4xi32>) -> tensor<4xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4xi1>, tensor<4xi32>
    return %0 : tensor<4xi32>
  }
  func.func private @remainder(%arg0: tensor<3xi32>, %arg1: tensor<i32>) -> tensor<3xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where_5(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<3xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %12 = stablehlo.and %11, %6 : tensor<3xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %14 = stablehlo.add %4, %13 : tensor<3xi32>
    %15 = stablehlo.select %12, %14, %4 : tensor<3xi1>, tensor<3xi32>
    return %15 : tensor<3xi32>
  }
  func.func private @_where_5(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @_where_6(%arg0: tensor<3xi1>, %arg1: tensor<i32>, %arg2: tensor<3xi1>) -> tensor<3xi32> {
    %0 = stablehlo.convert %arg2 : (tensor<3xi1>) -> tensor<3xi32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %2 = stablehlo.select %arg0, %1, %0 : tensor<3xi1>, tensor<3xi32>
    return %2 : tensor<3xi32>
  }
  func.func private @_where_7(%arg0: tensor<3xi32>, %arg1: tensor<i32>, %arg2: tensor<3xi32>) -> tensor<3xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %1 = stablehlo.compare NE, %arg0, %0, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %2 = stablehlo.convert %arg1 : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %4 = stablehlo.select %1, %3, %arg2 : tensor<3xi1>, tensor<3xi32>
    return %4 : tensor<3xi32>
  }
  func.func private @_ptp(%arg0: tensor<2xf32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %cst_0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.minimum across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.subtract %0, %1 : tensor<f32>
    return %2 : tensor<f32>
  }
  func.func private @_where_8(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @_linspace(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<2xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.divide %0, %1 : tensor<2xf32>
    %3 = stablehlo.reshape %arg0 : (tensor<f32>) -> tensor<1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %5 = stablehlo.subtract %4, %2 : tensor<2xf32>
    %6 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xf32>) -> tensor<2xf32>
    %7 = stablehlo.multiply %6, %5 : tensor<2xf32>
    %8 = stablehlo.reshape %arg1 : (tensor<f32>) -> tensor<1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<1xf32>) -> tensor<2xf32>
    %10 = stablehlo.multiply %9, %2 : tensor<2xf32>
    %11 = stablehlo.add %7, %10 : tensor<2xf32>
    %12 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %13 = stablehlo.concatenate %11, %12, dim = 0 : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
    return %13 : tensor<3xf32>
  }
  func.func private @searchsorted(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xi32> {
    %0 = call @_searchsorted_scan_impl(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func private @_searchsorted_scan_impl(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xi32> {
    %0 = call @_searchsorted_scan_impl_9(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func private @_searchsorted_scan_impl_9(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xi32> {
    %c = stablehlo.constant dense<0> : tensor<ui32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %c_0 = stablehlo.constant dense<3> : tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %2:5 = stablehlo.while(%iterArg = %arg0, %iterArg_2 = %arg1, %iterArg_3 = %c_1, %iterArg_4 = %0, %iterArg_5 = %1) : tensor<3xf32>, tensor<3xf32>, tensor<i32>, tensor<3xui32>, tensor<3xui32>
    cond {
      %c_6 = stablehlo.constant dense<2> : tensor<i32>
      %4 = stablehlo.compare LT, %iterArg_3, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %4:2 = func.call @closed_call(%iterArg, %iterArg_2, %iterArg_4, %iterArg_5) : (tensor<3xf32>, tensor<3xf32>, tensor<3xui32>, tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>)
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %iterArg_3, %c_6 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_2, %5, %4#0, %4#1 : tensor<3xf32>, tensor<3xf32>, tensor<i32>, tensor<3xui32>, tensor<3xui32>
    }
    %3 = stablehlo.convert %2#4 : (tensor<3xui32>) -> tensor<3xi32>
    return %3 : tensor<3xi32>
  }
  func.func private @closed_call(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xui32>, %arg3: tensor<3xui32>) -> (tensor<3xui32>, tensor<3xui32>) {
    %0 = stablehlo.subtract %arg3, %arg2 : tensor<3xui32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %1 = call @floor_divide_10(%0, %c) : (tensor<3xui32>, tensor<i32>) -> tensor<3xui32>
    %2 = stablehlo.add %arg2, %1 : tensor<3xui32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<3xui32>) -> tensor<3x1xui32>
    %4 = "stablehlo.gather"(%arg0, %3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<3xf32>, tensor<3x1xui32>) -> tensor<3x1xf32>
    %5 = stablehlo.reshape %4 : (tensor<3x1xf32>) -> tensor<3xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %7 = stablehlo.compare EQ, %arg1, %6, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %9 = stablehlo.select %7, %8, %arg1 : tensor<3xi1>, tensor<3xf32>
    %10 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %12 = stablehlo.select %10, %11, %9 : tensor<3xi1>, tensor<3xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %14 = stablehlo.compare EQ, %5, %13, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %16 = stablehlo.select %14, %15, %5 : tensor<3xi1>, tensor<3xf32>
    %17 = stablehlo.compare NE, %5, %5, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %19 = stablehlo.select %17, %18, %16 : tensor<3xi1>, tensor<3xf32>
    %20 = stablehlo.compare LT, %12, %19, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %21 = stablehlo.select %20, %arg2, %2 : tensor<3xi1>, tensor<3xui32>
    %22 = stablehlo.select %20, %2, %arg3 : tensor<3xi1>, tensor<3xui32>
    return %21, %22 : tensor<3xui32>, tensor<3xui32>
  }
  func.func private @floor_divide_10(%arg0: tensor<3xui32>, %arg1: tensor<i32>) -> tensor<3xui32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %2 = stablehlo.divide %arg0, %1 : tensor<3xui32>
    return %2 : tensor<3xui32>
  }
  func.func private @_roll_static_11(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %0 = stablehlo.slice %arg0 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
    %1 = stablehlo.slice %arg0 [0:1] : (tensor<2xi32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    return %2 : tensor<2xi32>
  }
  func.func private @cumsum_12(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %0 = call @cumsum_13(%arg0) : (tensor<2xi32>) -> tensor<2xi32>
    return %0 : tensor<2xi32>
  }
  func.func private @cumsum_13(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[1, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
    return %1 : tensor<2xi32>
  }
  func.func private @_take_14(%arg0: tensor<2xi32>, %arg1: tensor<4xi32>) -> tensor<4xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %c_0 = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4xi32>
    %4 = call @_where_4(%1, %3, %arg1) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %c_1 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<4x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [1] : (tensor<4x1xi1>, tensor<i1>) -> tensor<4xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<2xi32>, tensor<4x1xi32>) -> tensor<4xi32>
    %c_4 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %14 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %15 = stablehlo.select %12, %13, %14 : tensor<4xi1>, tensor<4xi32>
    return %15 : tensor<4xi32>
  }
  func.func private @_roll_dynamic(%arg0: tensor<4xi32>, %arg1: tensor<i32>) -> tensor<4xi32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.slice %0 [0:1] : (tensor<1xi32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %c = stablehlo.constant dense<4> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %3 = stablehlo.maximum %c, %c_0 : tensor<i32>
    %4 = call @remainder_15(%2, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %5 = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<8xi32>
    %c_1 = stablehlo.constant dense<4> : tensor<i32>
    %6 = stablehlo.subtract %c_1, %4 : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.compare LT, %6, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_3 = stablehlo.constant dense<8> : tensor<i32>
    %8 = stablehlo.add %6, %c_3 : tensor<i32>
    %9 = stablehlo.select %7, %8, %6 : tensor<i1>, tensor<i32>
    %10 = stablehlo.dynamic_slice %5, %9, sizes = [4] : (tensor<8xi32>, tensor<i32>) -> tensor<4xi32>
    return %10 : tensor<4xi32>
  }
  func.func private @remainder_15(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare EQ, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %1 = call @_where_5(%0, %c_0, %arg1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.remainder %arg0, %1 : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.compare NE, %2, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.compare LT, %2, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.compare LT, %1, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i32>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i32>
    return %9 : tensor<i32>
  }
  func.func private @_where_16(%arg0: tensor<3xi1>, %arg1: tensor<3xi32>, %arg2: tensor<i32>) -> tensor<3xi32> {
    %0 = stablehlo.convert %arg2 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<3xi1>, tensor<3xi32>
    return %2 : tensor<3xi32>
  }
}
