//! Answers at the control socket.

#[cfg(unix)]
mod unix;

#[cfg(unix)]
pub(crate) use unix::serve;

/// There is no door here to answer at.
#[cfg(not(unix))]
pub(crate) async fn serve(door: super::socket::Door, _control: super::Control, _end: impl Future<Output = ()>) {
    match door {}
}
