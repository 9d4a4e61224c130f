//! Lets the addon leave Node's own symbols to the process that loads it.

fn main() {
    napi_build::setup();
}
