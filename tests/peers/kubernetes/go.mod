// The versions are those of crates/local/cluster/go.mod, which is read in place of this file (-modfile). This one only
// says where the module is.
module almanac/tests/peers
