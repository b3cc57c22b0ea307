use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};

pub(crate) fn run(_args: &DemoArgs) -> Result<Exit, Failure> {
    Err(Failure::unavailable("not wired"))
}
