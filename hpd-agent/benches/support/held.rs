//! A model that holds children: the parent delegates at once, and no child is answered before all are let go.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
    task::{Poll, Waker},
};

use futures_util::StreamExt as _;
use hpd_agent::{
    chat::{BoxFuture, ChatClient, ChatDelta, ChatError, ChatRequest, ChatStream, ClientInfo},
    message::{Role, StopReason},
};

/// Counts the requests of every child, which its input names by number.
pub(crate) struct Held {
    info: ClientInfo,
    name: Arc<str>,
    text: Arc<str>,
    calls_of_child: Box<[AtomicU32]>,
    waiting: AtomicUsize,
    open: AtomicBool,
    /// Has room for all from the beginning, so that it does not count as memory of the children.
    wakers: Mutex<Vec<Waker>>,
    /// How many children a parent asks for in one message; `None`: one, whose number is the parent's input.
    per_message: Option<usize>,
}

impl Held {
    pub(crate) fn new(children: usize, per_message: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            info: ClientInfo::new("bench", "held"),
            name: "summarizer".into(),
            text: "done".into(),
            calls_of_child: (0..children).map(|_| AtomicU32::new(0)).collect(),
            waiting: AtomicUsize::new(0),
            open: false.into(),
            wakers: Mutex::new(Vec::with_capacity(2 * children)),
            per_message,
        })
    }

    /// How many children wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Answers all that wait, and from now on everybody at once.
    pub(crate) fn release(&self) {
        self.open.store(true, Relaxed);
        for waker in std::mem::take(&mut *self.wakers()) {
            waker.wake();
        }
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many children were asked exactly once.
    pub(crate) fn asked_once(&self) -> usize {
        self.calls_of_child.iter().filter(|calls| calls.load(Relaxed) == 1).count()
    }

    fn delegations(&self, input: &str) -> ChatStream {
        let numbers = match self.per_message {
            None => {
                let number: usize = input.parse().expect("the input is a number");
                number..number + 1
            }
            Some(count) => 0..count,
        };
        let name = Arc::clone(&self.name);
        let calls = numbers.enumerate().flat_map(move |(at, number)| {
            let index = u32::try_from(at).expect("few calls");
            let mut arguments = String::new();
            let _ = write!(arguments, r#"{{"input":"{number}"}}"#);
            [
                ChatDelta::ToolCallStart { index, id: None, name: Arc::clone(&name) },
                ChatDelta::ToolCallArguments { index, text: arguments.into() },
            ]
        });
        let end = [ChatDelta::Finish(StopReason::ToolUse)];
        ChatStream::new(futures_util::stream::iter(calls.chain(end)).map(Ok))
    }

    fn answer(&self) -> ChatStream {
        let deltas = [ChatDelta::Text(Arc::clone(&self.text)), ChatDelta::Finish(StopReason::EndTurn)];
        ChatStream::new(futures_util::stream::iter(deltas).map(Ok))
    }
}

impl ChatClient for Held {
    fn info(&self) -> &ClientInfo {
        &self.info
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        let last = request.history.last().expect("a message");
        if !request.tools.is_empty() {
            let answered = last.role() == Role::Tool;
            let stream = if answered { self.answer() } else { self.delegations(&last.text()) };
            return Box::pin(std::future::ready(Ok(stream)));
        }
        let number: usize = last.text().parse().expect("the child's input is a number");
        self.calls_of_child.get(number).expect("a number of a child").fetch_add(1, Relaxed);
        if self.open.load(Relaxed) {
            return Box::pin(std::future::ready(Ok(self.answer())));
        }
        self.waiting.fetch_add(1, Relaxed);
        // The request is dropped here: what it holds is a real client's to keep or not.
        drop(request);
        Box::pin(std::future::poll_fn(|cx| {
            if self.open.load(Relaxed) {
                return Poll::Ready(Ok(self.answer()));
            }
            self.wakers().push(cx.waker().clone());
            Poll::Pending
        }))
    }
}
