module @jit_grouped_matmul attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256x128xf32>, %arg1: tensor<3x128x128xf32>, %arg2: tensor<3xi32>) -> (tensor<256x128xf32> {jax.result_info = "result"}) {
    %0 = call @gmm(%arg0, %arg1, %arg2) : (tensor<256x128xf32>, tensor<3x128x128xf32>, tensor<3xi32>) -> tensor<256x128xf32>
    return %0 : tensor<256x128xf32>
  }
  func.func private @gmm(%arg0: tensor<256x128xf32>, %arg1: tensor<3x128x128xf32>, %arg2: tensor<3xi32>) -> tensor<256x128xf32> {
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
    %24 = stablehlo.iota dim = 0 : tensor<3xi32>
    %25 = call @_roll_static(%23) : (tensor<3xi32>) -> tensor<3xi32>
    %c_13 = stablehlo.constant dense<0> : tensor<i32>
    %26 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %27 = "stablehlo.scatter"(%25, %26, %c_14) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<3xi32>, tensor<1xi32>, tensor<i32>) -> tensor<3xi32>
    %28 = call @cumsum(%27) : (tensor<3xi32>) -> tensor<3xi32>
    %c_15 = stablehlo.constant dense<0> : tensor<i32>
    %29 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %30 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %31 = stablehlo.compare LT, %28, %30, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_17 = stablehlo.constant dense<4> : tensor<i32>
    %32 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %33 = stablehlo.add %28, %32 : tensor<3xi32>
    %34 = stablehlo.select %31, %33, %28 : tensor<3xi1>, tensor<3xi32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %c_18 = stablehlo.constant dense<1> : tensor<i32>
    %36 = stablehlo.broadcast_in_dim %c_18, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %37 = "stablehlo.scatter"(%29, %35, %36) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      %124 = stablehlo.add %arg3, %arg4 : tensor<i32>
      stablehlo.return %124 : tensor<i32>
    }) : (tensor<4xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %38 = call @cumsum_2(%37) : (tensor<4xi32>) -> tensor<4xi32>
    %c_19 = stablehlo.constant dense<1> : tensor<i32>
    %39 = stablehlo.broadcast_in_dim %c_19, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %40 = stablehlo.subtract %38, %39 : tensor<4xi32>
    %41 = call @_take(%24, %40) : (tensor<3xi32>, tensor<4xi32>) -> tensor<4xi32>
    %42 = stablehlo.slice %5 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %c_20 = stablehlo.constant dense<128> : tensor<i32>
    %43 = call @remainder(%42, %c_20) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_21 = stablehlo.constant dense<0> : tensor<i32>
    %44 = stablehlo.broadcast_in_dim %c_21, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %45 = stablehlo.compare EQ, %43, %44, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_22 = stablehlo.constant dense<0> : tensor<i32>
    %46 = stablehlo.broadcast_in_dim %c_22, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %47 = stablehlo.compare EQ, %arg2, %46, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %48 = stablehlo.or %45, %47 : tensor<3xi1>
    %49 = stablehlo.slice %5 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %c_23 = stablehlo.constant dense<128> : tensor<i32>
    %50 = call @floor_divide(%49, %c_23) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_24 = stablehlo.constant dense<2> : tensor<i32>
    %51 = call @_where_1(%48, %c_24, %50) : (tensor<3xi1>, tensor<i32>, tensor<3xi32>) -> tensor<3xi32>
    %52 = stablehlo.convert %51 : (tensor<3xi32>) -> tensor<3xf32>
    %cst_25 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %54 = call @_ptp(%cst) : (tensor<2xf32>) -> tensor<f32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %55 = stablehlo.compare EQ, %54, %cst_26, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %56 = stablehlo.slice %cst [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %57 = stablehlo.reshape %56 : (tensor<1xf32>) -> tensor<f32>
    %cst_27 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %58 = stablehlo.subtract %57, %cst_27 : tensor<f32>
    %59 = stablehlo.slice %cst [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %60 = stablehlo.reshape %59 : (tensor<1xf32>) -> tensor<f32>
    %61 = call @_where_6(%55, %58, %60) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %62 = call @_ptp(%cst) : (tensor<2xf32>) -> tensor<f32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %63 = stablehlo.compare EQ, %62, %cst_28, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %64 = stablehlo.slice %cst [1:2] : (tensor<2xf32>) -> tensor<1xf32>
    %65 = stablehlo.reshape %64 : (tensor<1xf32>) -> tensor<f32>
    %cst_29 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %66 = stablehlo.add %65, %cst_29 : tensor<f32>
    %67 = stablehlo.slice %cst [1:2] : (tensor<2xf32>) -> tensor<1xf32>
    %68 = stablehlo.reshape %67 : (tensor<1xf32>) -> tensor<f32>
    %69 = call @_where_6(%63, %66, %68) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %70 = call @_linspace(%61, %69) : (tensor<f32>, tensor<f32>) -> tensor<3xf32>
    %71 = call @searchsorted(%70, %52) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi32>
    %72 = stablehlo.slice %70 [2:3] : (tensor<3xf32>) -> tensor<1xf32>
    %73 = stablehlo.reshape %72 : (tensor<1xf32>) -> tensor<f32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %75 = stablehlo.compare EQ, %52, %74, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %c_30 = stablehlo.constant dense<2> : tensor<i32>
    %76 = call @_where_1(%75, %c_30, %71) : (tensor<3xi1>, tensor<i32>, tensor<3xi32>) -> tensor<3xi32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %77 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %c_32 = stablehlo.constant dense<0> : tensor<i32>
    %78 = stablehlo.broadcast_in_dim %c_32, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %79 = stablehlo.compare LT, %76, %78, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %c_33 = stablehlo.constant dense<3> : tensor<i32>
    %80 = stablehlo.broadcast_in_dim %c_33, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %81 = stablehlo.add %76, %80 : tensor<3xi32>
    %82 = stablehlo.select %79, %81, %76 : tensor<3xi1>, tensor<3xi32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0] : (tensor<3xi32>) -> tensor<3x1xi32>
    %84 = "stablehlo.scatter"(%77, %83, %53) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %124 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %124 : tensor<f32>
    }) : (tensor<3xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<3xf32>
    %85 = stablehlo.slice %84 [1:3] : (tensor<3xf32>) -> tensor<2xf32>
    %cst_34 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %87 = stablehlo.add %85, %86 : tensor<2xf32>
    %88 = stablehlo.iota dim = 0 : tensor<2xi32>
    %89 = stablehlo.convert %87 : (tensor<2xf32>) -> tensor<2xi32>
    %90 = call @_roll_static_9(%89) : (tensor<2xi32>) -> tensor<2xi32>
    %c_35 = stablehlo.constant dense<0> : tensor<i32>
    %91 = stablehlo.broadcast_in_dim %c_35, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_36 = stablehlo.constant dense<0> : tensor<i32>
    %92 = "stablehlo.scatter"(%90, %91, %c_36) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      stablehlo.return %arg4 : tensor<i32>
    }) : (tensor<2xi32>, tensor<1xi32>, tensor<i32>) -> tensor<2xi32>
    %93 = call @cumsum_10(%92) : (tensor<2xi32>) -> tensor<2xi32>
    %c_37 = stablehlo.constant dense<0> : tensor<i32>
    %94 = stablehlo.broadcast_in_dim %c_37, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %c_38 = stablehlo.constant dense<0> : tensor<i32>
    %95 = stablehlo.broadcast_in_dim %c_38, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %96 = stablehlo.compare LT, %93, %95, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %c_39 = stablehlo.constant dense<4> : tensor<i32>
    %97 = stablehlo.broadcast_in_dim %c_39, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %98 = stablehlo.add %93, %97 : tensor<2xi32>
    %99 = stablehlo.select %96, %98, %93 : tensor<2xi1>, tensor<2xi32>
    %100 = stablehlo.broadcast_in_dim %99, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %c_40 = stablehlo.constant dense<1> : tensor<i32>
    %101 = stablehlo.broadcast_in_dim %c_40, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %102 = "stablehlo.scatter"(%94, %100, %101) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      %124 = stablehlo.add %arg3, %arg4 : tensor<i32>
      stablehlo.return %124 : tensor<i32>
    }) : (tensor<4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<4xi32>
    %103 = call @cumsum_2(%102) : (tensor<4xi32>) -> tensor<4xi32>
    %c_41 = stablehlo.constant dense<1> : tensor<i32>
    %104 = stablehlo.broadcast_in_dim %c_41, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %105 = stablehlo.subtract %103, %104 : tensor<4xi32>
    %106 = call @_take_12(%88, %105) : (tensor<2xi32>, tensor<4xi32>) -> tensor<4xi32>
    %107 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %108 = stablehlo.compare LT, %41, %107, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %109 = stablehlo.convert %108 : (tensor<4xi1>) -> tensor<4xi32>
    %c_42 = stablehlo.constant dense<0> : tensor<i32>
    %110 = stablehlo.reduce(%109 init: %c_42) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    %111 = stablehlo.negate %110 : tensor<i32>
    %112 = call @_roll_dynamic(%41, %111) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %113 = stablehlo.negate %110 : tensor<i32>
    %114 = call @_roll_dynamic(%106, %113) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %115 = stablehlo.iota dim = 0 : tensor<3xi32>
    %116 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %117 = stablehlo.compare LE, %115, %116, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %118 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %119 = stablehlo.compare GE, %115, %118, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %120 = stablehlo.and %117, %119 : tensor<3xi1>
    %c_43 = stablehlo.constant dense<0> : tensor<i32>
    %121 = call @_where_14(%120, %23, %c_43) : (tensor<3xi1>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %c_44 = stablehlo.constant dense<0> : tensor<i32>
    %122 = stablehlo.reduce(%121 init: %c_44) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %123 = stablehlo.custom_call @tpu_custom_call(%122, %5, %112, %114, %c, %arg0, %arg1) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzvUgFNTElSMjMuMC4wZ2l0AAE/CQEDBQcBAwkDKwsNDxETFRcZGx0fISMlJykrLS8xMwNqBe4EIQH3BwsXCwsLExMTFwsTCxMTExMLEwsLFxsLEwsLExMXMxMTCwsLEw8LCwsTExMTZQ8LUwsLCxMTExMTCxcLCwsLCxMTExMXEzMbEwsTCwsTExMTExcTExMXExcTExMTCxMLD0sLFwuFpQtzCw8LCwsLFxsLGwtzGwsbGwsbBQ2RYWGNTSoCAeICExMLHxcLHw8TExMfDxcLEx8LFwsXCw8fEw8TDx8PExMPExMPHw8TDx8TEw8TEw8nDxMPHxMPHxMPHx8LFwsPJwsLCwsTDycTDx8LUwsTEw8THxMnHxMTExMfFw8TExMfExMTEx8TExMTHxcTCxcLExMfGwsjFwsXCw8THxMPEx8LFwsPEx8XDwsXCw8THxcPFwsXCw8THxMTExMfExMTEx8XCxcLDxMnEw8THxcPExMLHxMXCw8TDwcFWVkBIQ8HGx8PGycHCx8fKyM7MzcCihsfBTUDAxU2AgU3BTkFOxVOAyUdB9YCHU8iAwMDFSICBT0dB8oCBT8dB+ICHX2aAh19xgIVRgMNBUEdGVYDBUMFRR0OAhICAwNKAuYEBUcdM3YCBUkFSx0zlgIdGeoCHfIC9gIDB5lLLgMyAzYDOgMdT6YEHU/eBAVNBU8FUR0Z0gIREQAFUwVVBVcdlyoDHQdiBB0HdgQdl8oEYWZmaW5lX21hcDwoZDApIC0+IChkMCk+ABEJBQVZIwkFIYAAAAAAAAAAgAAAAAAAAAAFWwVdDR0dBwYCHQcmAh0HOgIdR2ICHQdmAgVfAwM1egIFYQVjBWUFZwVpAwM1XR0zpgIdM8ICHRneAgMDFe4CHRkCAwMHBgMCAgoDSw4DSwMDEgPqBB1NFgMFax0ZHgMFbQVvHQc+Ax0HWgMdTXYDHQeGAx0HmgMdtgO6AxXuAw0dTfYDFf4DDR0GBAoEFRYEDR0mBCoEFTYEDRVaBA0VngQlFa4EJQVxAwO/wQVzEQktAxHFxyfJz9HT1dddKdnb/93fBXUBB/339w0bYWZmaW5lX21hcDwoZDAsIGQxKSAtPiAoZDAsIGQxKT4AYWZmaW5lX21hcDwoZDAsIGQxLCBkMikgLT4gKGQwLCBkMSwgZDIpPgAFdyMJBzEBAAAAAAAAAAAAAAAAAACAAQAAAAAAAAAFeREJEQV7BX0FfwWBAQfh5esDBUPjRWEJXwMFQ+dF6QljIwkHMQEAAAAAAAAAgAAAAAAAAACAAAAAAAAAAAMFQ+1FYQllAwUnZylfAwUn8yljDR8DBSdnKWUjdHB1LmRpbWVuc2lvbl9zZW1hbnRpY3M8YXJiaXRyYXJ5PgAjdHB1Lm1lbW9yeV9zcGFjZTxzbWVtPgAjdHB1Lm1lbW9yeV9zcGFjZTx2bWVtPgAjdHB1LmRpbWVuc2lvbl9zZW1hbnRpY3M8cGFyYWxsZWw+ACN0cHUuY29yZV90eXBlPHRjPgAjdHB1LmRvdF9kaW1lbnNpb25fbnVtYmVyczxbMV0sIFswXSwgWzBdLCBbMV0sIFswLCAwLCAxLCAxXSwgW10sIFtdPgAdCQoCFSsWAgWDLQMHggcXPR0aAh4CBYUtAwfOBxc9EQEBHQkqAhUrLgIdRzICLQMHtgcXOxEDAR0+AkICBYcdR0YCLQMHtgdBXwWJHVICVgIFix1aAl4CBY0Vb28tAwe2BxdfHQlqAhUrKx0vcgIdczEtAwdiBhsrEQkBHS+CAh13hgIVMTEdeY4CHXuSAhU3Ny0DB2IGCy0dfzcdL6ICHXODLQMHXgcRNR0vrgIdd7ICFTGDHXm6Ah17vgIVN4UtAwlaBwlqBwsdf4UdCc4CFUlJLQMHKgcnNx0J2gIVh4ctAwcuByc3HQnmAhU5OS0DBzIHDS0lBwkAAAAABY8d+gL+AgWRFYuLLQMJMgc1RgcPBZMFlQWXBZkdkxoDFZWVLQMJMgcNRgcPHVEmAxVTOS0DB2oGDS0FmyMBCSEBAAAAAQAAAAIAAAAAAAAABZ0jAQEBHQlCAxUhIR0LSgMtAwdaBBs/HSNSAy0DCcoGG94GDy0DB1IHES0dCV4DFSFiAxVmAw0dC2oDLQMHXgQhTwMDFXIDEQEFHZl6AxV+Aw0dC4IDLQMHYgQ5UR0JigMVIY4DFZIDDR0LlgMtAwdiBB1THQmeAxUhogMVpgMNHQuqAy0DB2YEEzkDAxWyAxEBAgQFnx2+A8IDBaEVxgMNHQvKAy0DB2YEE0MDA9ID1gMFoyMBAwkAAAAAHd4D4gMFpR3mA+oDBacVp6cdC/IDLQMHagQTcx2T+gMVq6sdCwIELQMHagQTgQWpHQ4EEgQFqxWvrx0LGgQtAwduBDNZAwM1IgQRCRUFrR0uBDIEBa8Vs7MdCzoELQMHbgRdfQMDNUIEEQkJHUoETgQFsR1SBFYEBbMVtbUdC14ELQMHbgQTfx0JZgQVOWoEFW4EJR0jcgQtAwfiBiNDHQl6BBVJfgQVggQlHSOGBC0DB+oGP08djgSSBAW1HZYEmgQFtxW3tx0jogQtAwnmBiPuBg8dUaoEFbm5HSOyBC0DB+YGDR0DAxW6BBMPAR27wgQdxgRZBbktAwdqBjNpHbvSBB3WBNoEBbsVWVkdUeIEFVNTI2FyaXRoLm92ZXJmbG93PG5vbmU+ACNhcml0aC5mYXN0bWF0aDxub25lPgABAgIDF/kDEQFbJwUCBAIEDwECBBf5AwUBWxf7BQIEAgQPywsBCScFAgQCBAEnBQIEAgQRF/sHBQIEAgQPzScHBQIEAgQPBRcBAQEFBQULDRcNDQEFDwEBAQUFBQsFAQEFDwEBAQUFBQsHAQEBBNYNBQERAb0HAwERDREBwwcDKzcXAQEBAQEBBQEFAQUBCwENARcBDQENAQMDbgITAwELB34CdQMRBQUXFwaKAgMBAxkDAx0TAwELBx2BAxEFGx0ZFB0DHwkDCx0DA74EtgQDDxUGzgQDBwMrAwNBBQMDAwNBBQMDBQZBAwcHFS8xEQVBPQktFS8xEwAdAwEFEwAdAwOeAhMDAQsHqgJ1AxEFBSEXBrYCAwEDIwMDHxMDAQsHH4EDEQUlJxkUHwMpCQNfyQMDFwUDAwMDFwUDAwUGFwMHBw8rLQMDDwUDAwMDDwUDAwMDDwUDAwUGDwMZCRExMzUbBg8DBwM3AwMbBQMDAwMbBQMDBQYbAwcHFTs9AwM7iQMHHQc7jQMHBy85QR8HkY8DBwU/QwMDEQUDAwMDEQUDAwUGEQMHBxVHSREFET0JRRVHSQkGmwMDAwMHBpsDAQUJTQkGnQMDA08HBp0DAQUHUQMDn24DAwEhB58tAwEFT1UJBqEDAwNXBwahAwEFB1kJBqMDAwMDBwajAwEFC10DA6WuAwMBJQelLQMBBV9hJwPaA84DAxMVBqkDEwNjIQepLQMTBWVnFQatAxMDUwsHrR4EAxUFaWsVBrEDEwNbCwexPgQDFQVpbykGRgQDFQVtcQMDVQUDAwMDVQUDAwUGVQMHBxV1dwMDVwUDAwMDVwUDAwUGVwMHBxN7fSsGigQDBwdzeX8DAz8FAwMDAz8FAwMFBj8DBwcTg4URBT89CYETg4UTAB8DI00DAxcFAwMDAxcFAwMFBhcDBwcPKy0DAw8FAwMDAw8FAwMDAw8FAwMFBg8DGQkRMTM1GwYPAwcDNwMDGwUDAwMDGwUDAwUGGwMHBxU7PQMDO4kDBx0HO40DBwcvOUEfB5GPAwcFP0MDAxEFAwMDAxEFAwMFBhEDBwcVR0kRBRE9CUUVR0kTAB8PAAENEQHvBwMVEw8BAQEBAQEFAQUBBQELAQkGcQMDAwMHBnEDAQULDwMDARMDAQ8EAQURBQ0RAfEHAxsfDwEBAQEBAQUBBQEFAQsBCQZrAwMDAwcGawMBBQkPAwNtBQMDBwZtAwEFDRMjB04CLQMBBREVAwMBEwMBDwQBBxcFAQ0RAfUHAxUTDwEBAQEBAQUBBQEFAQsBCQZpAwMDAwcGaQMBBQsPAwMBEwMBDwQBBREBBgMBBQEA+hS9RSMlFRELDQkNCRUNFwkLESkTHR0lMRsRCx0JR0cdHQ8jISMpLSUJTxELDVUtDQcZGRkVDQtHHSUVKQkTHVVJDSERCw8bFxMXFxcXFyUPGSMVIxkVFyMZGR8PDQkdEWJ1aWx0aW4Ac3RhYmxlX21vc2FpYwB0cHUAYXJpdGgAbW9kdWxlAGFyaXRoLmNvbnN0YW50AHZlY3Rvci5sb2FkAG1lbXJlZi5sb2FkAGFyaXRoLmluZGV4X2Nhc3QAYXJpdGguY21waQBmdW5jLmZ1bmMAZnVuYy5yZXR1cm4AdHB1LnZlY3Rvcl9zdG9yZQBzY2YueWllbGQAdmVjdG9yLmJyb2FkY2FzdABhcml0aC5leHR1aQBzY2YuaWYAdmVjdG9yLnNoYXBlX2Nhc3QAdHB1Lm1hdG11bABhcml0aC5hZGRmAGFyaXRoLmFkZGkAYXJpdGguc3ViaQBhcml0aC5tdWxpAHRwdS5pb3RhAGFyaXRoLmFuZGkAYXJpdGguc2VsZWN0AGdtbS5weQBnZXQ6AGdldC9nZXQAX2dldF9zdG9yZV9tYXNrAHZhbHVlAGdtbS48bG9jYWxzPi5rZXJuZWwuPGxvY2Fscz4uX2FjY3VtAGdtbS48bG9jYWxzPi5rZXJuZWwuPGxvY2Fscz4uX3N0b3JlX2FjY3VtAGZ1bmN0aW9uX3R5cGUAc3ltX25hbWUAZXE6AGdtbS48bG9jYWxzPi5rZXJuZWwAcHJlZGljYXRlAHRyYW5zZm9ybV9pbmRpY2VzAHdpbmRvd19ib3VuZHMAZ21tLjxsb2NhbHM+LnJoc190cmFuc2Zvcm1faW5kaWNlcwBhZGQ6AHN3YXA6AHN3YXAvc3dhcAB0cmFuc2Zvcm1fMAB0cmFuc2Zvcm1fMQB0cmFuc2Zvcm1fMgBlcQBlcS9lcQBjb252ZXJ0X2VsZW1lbnRfdHlwZToAY29udmVydF9lbGVtZW50X3R5cGUvY29udmVydF9lbGVtZW50X3R5cGUAY29uZDoAY29uZABhZGQvYWRkAGdtbS48bG9jYWxzPi5rZXJuZWwuPGxvY2Fscz4uX3plcm9fYWNjAGFkZABicm9hZGNhc3RfaW5fZGltOgBzdGFibGVfbW9zYWljLnZlcnNpb24AZGltZW5zaW9uX3NlbWFudGljcwBpdGVyYXRpb25fYm91bmRzAHNjYWxhcl9wcmVmZXRjaABzY3JhdGNoX29wZXJhbmRzAGtlcm5lbAB0cHUuY29yZV90eXBlAHdpbmRvd19wYXJhbXMAZ21tLjxsb2NhbHM+Lmxoc190cmFuc2Zvcm1faW5kaWNlcwBnbW0uPGxvY2Fscz4ub3V0X3RyYW5zZm9ybV9pbmRpY2VzAGdldABvdmVyZmxvd0ZsYWdzAHN1YjoAc3ViL3N1YgBkb3RfZ2VuZXJhbDoAZG90X2dlbmVyYWwvZG90X2dlbmVyYWwAZGltZW5zaW9uX251bWJlcnMAdHJhbnNwb3NlX2xocwB0cmFuc3Bvc2VfcmhzAGZhc3RtYXRoAG9wZXJhbmRTZWdtZW50U2l6ZXMAc3RyaWRlcwBtdWw6AG11bABkaW1lbnNpb25zAGlvdGE6AGlvdGEvaW90YQBnZToAZ2UvZ2UAbHQ6AGx0L2x0AGFuZDoAYW5kL2FuZABzZWxlY3RfbjoAc2VsZWN0X24vc2VsZWN0X24AYnJvYWRjYXN0X2luX2RpbQBicm9hZGNhc3RfaW5fZGltL2Jyb2FkY2FzdF9pbl9kaW0A\22, \22cost_estimate\22: {\0A\22bytes_accessed\22:524288,\0A\22flops\22:8388608,\0A\22remote_bytes_transferred\22:0,\0A\22transcendentals\22:0\0A}, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}", kernel_name = "kernel", mhlo.frontend_attributes = {kernel_metadata = "{}"}, operand_layouts = [dense<> : tensor<0xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[2, 1, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<i32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<1xi32>, tensor<256x128xf32>, tensor<3x128x128xf32>) -> tensor<256x128xf32>
    return %123 : tensor<256x128xf32>
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
  func.func private @_ptp(%arg0: tensor<2xf32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %cst_0 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.minimum across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.subtract %0, %1 : tensor<f32>
    return %2 : tensor<f32>
  }
  func.func private @_where_6(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
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
    %0 = call @_searchsorted_scan_impl_7(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  }
  func.func private @_searchsorted_scan_impl_7(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> tensor<3xi32> {
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
    %1 = call @floor_divide_8(%0, %c) : (tensor<3xui32>, tensor<i32>) -> tensor<3xui32>
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
  func.func private @floor_divide_8(%arg0: tensor<3xui32>, %arg1: tensor<i32>) -> tensor<3xui32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %2 = stablehlo.divide %arg0, %1 : tensor<3xui32>
    return %2 : tensor<3xui32>
  }
  func.func private @_roll_static_9(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %0 = stablehlo.slice %arg0 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
    %1 = stablehlo.slice %arg0 [0:1] : (tensor<2xi32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    return %2 : tensor<2xi32>
  }
  func.func private @cumsum_10(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %0 = call @cumsum_11(%arg0) : (tensor<2xi32>) -> tensor<2xi32>
    return %0 : tensor<2xi32>
  }
  func.func private @cumsum_11(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[1, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
    return %1 : tensor<2xi32>
  }
  func.func private @_take_12(%arg0: tensor<2xi32>, %arg1: tensor<4xi32>) -> tensor<4xi32> {
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
    %4 = call @remainder_13(%2, %3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
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
  func.func private @remainder_13(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
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
  func.func private @_where_14(%arg0: tensor<3xi1>, %arg1: tensor<3xi32>, %arg2: tensor<i32>) -> tensor<3xi32> {
    %0 = stablehlo.convert %arg2 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<3xi1>, tensor<3xi32>
    return %2 : tensor<3xi32>
  }
}
