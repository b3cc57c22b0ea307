//! Set-up and checks of the workspace.

fn main() {}
