//! Ctrl-C.

use tokio::sync::watch;

/// Counts how often Ctrl-C was pressed. From its creation on, Ctrl-C no longer ends the process by itself.
#[derive(Debug)]
pub struct Interrupts(watch::Receiver<u64>);

impl Interrupts {
    /// Begins to listen.
    #[must_use]
    pub fn listen() -> Self {
        let (sender, receiver) = watch::channel(0);
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() && !sender.is_closed() {
                sender.send_modify(|count| *count += 1);
            }
        });
        Self(receiver)
    }

    /// Resolves when Ctrl-C has been pressed since the last time that this resolved.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            // Nobody can press it any more.
            std::future::pending().await
        }
    }
}
