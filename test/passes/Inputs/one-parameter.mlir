dsv4.mesh @mesh ["dp_shard" = 2, "cp" = 2]
func.func private @forward(tensor<4xf32> {dsv4.param = "model.norm.weight"})
