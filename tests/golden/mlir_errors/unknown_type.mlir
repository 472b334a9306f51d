module @m {
  func.func public @main(%arg0: memref<8xf32>) -> memref<8xf32> {
    return %arg0 : memref<8xf32>
  }
}
