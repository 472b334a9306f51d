module @y {
  sdy.mesh mesh=<[]>
func @n(%arg0: tensor<8x8xf32> {h}) {
%0 = sdy.reshard%arg0 <@mesh, []>:tensor<98xf32> %1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD :tensor<8x8xf32>%2 =stablehlo.add%1%0 {sdy = _<>}: tensor<8xf32> %3:2= stablehlo.optimization_barrier%2: tensor<8xf32>, tensor<f32>}
}
