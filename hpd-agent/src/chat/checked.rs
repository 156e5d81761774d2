//! What every streamed answer has to obey, checked in one place.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{ChatDelta, ChatError, ChatErrorKind, ChatStream, ClientInfo};

impl ChatStream {
    /// The same stream, with the rules of an answer enforced: nothing follows an error; nothing but usage follows
    /// [`ChatDelta::Finish`], whose answer is complete whatever the connection does afterwards; tool calls are numbered
    /// from 0 and their arguments belong to a call that has begun.
    ///
    /// A stream that ends without [`ChatDelta::Finish`] was cut: it ends with an error of kind
    /// [`ChatErrorKind::Interrupted`] that names provider and model of `info`. Checking a stream twice changes nothing.
    ///
    /// ```
    /// # use futures_util::StreamExt;
    /// # use hpd_agent::chat::*;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let cut = ChatStream::from_deltas([ChatDelta::Text("The answer is".into())]);
    /// let mut stream = cut.checked(&ClientInfo::new("example", "model"));
    /// assert!(matches!(stream.next().await, Some(Ok(ChatDelta::Text(_)))));
    /// let error = stream.next().await.and_then(Result::err);
    /// assert_eq!(error.map(|e| e.kind()), Some(ChatErrorKind::Interrupted));
    /// assert!(stream.next().await.is_none());
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    #[must_use]
    pub fn checked(self, info: &ClientInfo) -> Self {
        Self::new(Checked { stream: self, info: info.clone(), calls: 0, state: State::Open })
    }
}

struct Checked {
    stream: ChatStream,
    info: ClientInfo,
    /// How many tool calls have begun.
    calls: u32,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Open,
    Finished,
    Ended,
}

impl Checked {
    /// What a delta means for the answer; `Err` says which rule it breaks.
    fn advance(&mut self, delta: &ChatDelta) -> Result<(), String> {
        if self.state == State::Finished && !matches!(delta, ChatDelta::Usage(_)) {
            return Err("the answer went on after it had been declared complete".to_owned());
        }
        match delta {
            ChatDelta::ToolCallStart { index, .. } if *index != self.calls => {
                return Err(format!("tool call {index} begins where call {} was due", self.calls));
            }
            ChatDelta::ToolCallStart { .. } => self.calls += 1,
            ChatDelta::ToolCallArguments { index, .. } if *index >= self.calls => {
                return Err(format!("arguments for tool call {index}, which has not begun"));
            }
            ChatDelta::Finish(_) => self.state = State::Finished,
            _ => {}
        }
        Ok(())
    }
}

impl Stream for Checked {
    type Item = Result<ChatDelta, ChatError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.state == State::Ended {
            return Poll::Ready(None);
        }
        let item = match Pin::new(&mut self.stream).poll_next(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(item) => item,
        };
        let item = match item {
            Some(Ok(delta)) => match self.advance(&delta) {
                Ok(()) => return Poll::Ready(Some(Ok(delta))),
                Err(rule) => Some(Err(ChatError::new(&self.info, ChatErrorKind::Protocol, rule))),
            },
            // The answer is complete: what happens to the connection afterwards is of no interest.
            _ if self.state == State::Finished => None,
            Some(Err(error)) => Some(Err(error)),
            None => {
                let text = "the stream ended before the answer was complete";
                Some(Err(ChatError::new(&self.info, ChatErrorKind::Interrupted, text)))
            }
        };
        self.state = State::Ended;
        Poll::Ready(item)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;
    use crate::message::{StopReason, Usage};

    fn info() -> ClientInfo {
        ClientInfo::new("p", "m")
    }

    fn text(text: &str) -> ChatDelta {
        ChatDelta::Text(text.into())
    }

    fn finish() -> ChatDelta {
        ChatDelta::Finish(StopReason::EndTurn)
    }

    fn start(index: u32) -> ChatDelta {
        ChatDelta::ToolCallStart { index, id: None, name: "t".into() }
    }

    fn arguments(index: u32) -> ChatDelta {
        ChatDelta::ToolCallArguments { index, text: "{}".into() }
    }

    async fn run(items: Vec<Result<ChatDelta, ChatError>>) -> (Vec<ChatDelta>, Option<ChatErrorKind>) {
        let mut stream = ChatStream::new(futures_util::stream::iter(items)).checked(&info());
        let mut deltas = Vec::new();
        let mut error = None;
        while let Some(item) = stream.next().await {
            assert!(error.is_none(), "nothing follows an error");
            match item {
                Ok(delta) => deltas.push(delta),
                Err(e) => error = Some(e.kind()),
            }
        }
        assert!(stream.next().await.is_none(), "the end stays the end");
        (deltas, error)
    }

    async fn check(deltas: impl IntoIterator<Item = ChatDelta>) -> (Vec<ChatDelta>, Option<ChatErrorKind>) {
        run(deltas.into_iter().map(Ok).collect()).await
    }

    #[tokio::test]
    async fn a_whole_answer_passes_unchanged() {
        let deltas =
            [start(0), arguments(0), start(1), text("a"), arguments(0), finish(), ChatDelta::Usage(Usage::new(1, 2))];
        assert_eq!(check(deltas.clone()).await, (deltas.to_vec(), None));
    }

    #[tokio::test]
    async fn an_end_without_finish_is_an_interruption() {
        assert_eq!(check([text("a")]).await, (vec![text("a")], Some(ChatErrorKind::Interrupted)));
        assert_eq!(check([]).await, (vec![], Some(ChatErrorKind::Interrupted)));
    }

    #[tokio::test]
    async fn nothing_follows_an_error() {
        let error = ChatError::new(&info(), ChatErrorKind::Server, "x");
        let items = vec![Ok(text("a")), Err(error), Ok(text("b")), Ok(finish())];
        assert_eq!(run(items).await, (vec![text("a")], Some(ChatErrorKind::Server)));
    }

    #[tokio::test]
    async fn a_connection_that_breaks_after_the_end_does_no_harm() {
        let error = ChatError::new(&info(), ChatErrorKind::Connection, "x");
        let items = vec![Ok(text("a")), Ok(finish()), Err(error)];
        assert_eq!(run(items).await, (vec![text("a"), finish()], None));
    }

    #[tokio::test]
    async fn broken_rules_are_protocol_errors() {
        for deltas in [
            vec![finish(), text("more")],
            vec![finish(), finish()],
            vec![start(1)],
            vec![start(0), start(0)],
            vec![start(0), arguments(1)],
        ] {
            let (_, error) = check(deltas.clone()).await;
            assert_eq!(error, Some(ChatErrorKind::Protocol), "{deltas:?}");
        }
    }

    #[tokio::test]
    async fn checking_twice_changes_nothing() {
        let stream = ChatStream::from_deltas([text("a")]).checked(&info()).checked(&info());
        assert_eq!(stream.collect::<Vec<_>>().await.len(), 2);
    }
}
