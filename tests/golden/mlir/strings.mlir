module @strings attributes {mhlo.note = "a \22quoted\22 {brace}"} {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "result['a']"}) {
    %0 = stablehlo.custom_call @tpu_custom_call(%arg0) {backend_config = "{\22custom_call_config\22: {\22body\22: \22TUzv%0 {[(\22},
 \22second\22: \22line\\n\22}", kernel_name = "k", mhlo.frontend_attributes = {kernel_metadata = "{\0A  \22a\22: 1}"}, operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
