//! At a terminal: questions for permission, and Ctrl-C.

use std::{
    io::{Read, Write},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use pty_process::blocking::{self, Pty};

use crate::quickstart::coordinator;
use crate::support::{LIGHTHOUSE, PATIENCE, Reply, example, last_message, lighthouse, server};

/// A program at a terminal of its own.
struct Session {
    child: Child,
    terminal: Arc<Pty>,
    screen: Arc<Mutex<Vec<u8>>>,
    /// How much of the screen has been looked at.
    seen: usize,
}

impl Session {
    /// `input`: what standard input has instead of the terminal.
    fn start(command: Command, input: Option<&str>) -> Self {
        let (terminal, end) = blocking::open().unwrap();
        let command = blocking::Command::from(command);
        let command = if input.is_some() { command.stdin(Stdio::piped()) } else { command };
        let mut child = command.spawn(end).unwrap();
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            stdin.write_all(input.as_bytes()).unwrap();
        }
        let terminal = Arc::new(terminal);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (source, copy) = (Arc::clone(&terminal), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails when nobody has the other end any more.
            while let Ok(length) = (&*source).read(&mut bytes) {
                copy.lock().unwrap().extend_from_slice(&bytes[..length]);
            }
        });
        Self { child, terminal, screen, seen: 0 }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    /// Waits until the screen has this text behind what was expected before.
    fn expect(&mut self, text: &str) {
        let begin = Instant::now();
        loop {
            let found = self.screen.lock().unwrap()[self.seen..].windows(text.len()).position(|w| w == text.as_bytes());
            if let Some(place) = found {
                self.seen += place + text.len();
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "no `{text}` on\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn send(&self, text: &str) {
        (&*self.terminal).write_all(text.as_bytes()).unwrap();
    }

    /// The exit code, and everything that was on the screen.
    fn end(mut self) -> (Option<i32>, String) {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                std::thread::sleep(Duration::from_millis(100));
                return (status.code(), self.text());
            }
            if begin.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("it does not end:\n{}", self.text());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

const QUESTION: &str = "[s]how all of it: ";

#[test]
fn questions_are_asked_at_the_terminal_also_when_the_document_comes_by_standard_input() {
    let mut session = Session::start(example("quickstart"), Some(LIGHTHOUSE));
    session.expect("Coordinator wants to use the subagent `summarizer`");
    session.expect("input: The light at Marrow Point");
    session.expect(QUESTION);
    session.send("what?\n");
    session.expect("Please answer");
    session.expect(QUESTION);
    session.send("s\n");
    session.expect("in the old oil store.");
    session.expect(QUESTION);
    session.send("y\n");
    session.expect("[Coordinator › summarizer]");
    session.expect("wants to use the subagent `reviewer`");
    session.expect(QUESTION);
    session.send("n\n");
    session.expect("`reviewer` is denied: the user said no");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("delegates to `reviewer`"), "{screen}");
}

#[test]
fn the_answer_is_on_the_screen_once() {
    let mut command = example("quickstart");
    command.arg("--yes").arg(lighthouse()).env("COLUMNS", "72").env("NO_COLOR", "1");
    let mut session = Session::start(command, None);
    session.expect("## summarizer");
    session.expect("in all");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("## summarizer").count(), 1, "{screen}");
    let (tree, _) = screen.split_once("## summarizer").unwrap();
    assert!(tree.lines().all(|line| line.chars().count() <= 72), "{screen}");
}

#[test]
fn an_empty_line_and_the_end_of_the_input_mean_no() {
    let mut command = example("quickstart");
    command.arg(lighthouse());
    let mut session = Session::start(command, None);
    session.expect(QUESTION);
    session.send("\n");
    session.expect("`summarizer` is denied");
    session.expect(QUESTION);
    session.send("\u{4}");
    session.expect("`reviewer` is denied");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn ctrl_c_at_a_question_cancels_and_asks_nothing_more() {
    let mut command = example("quickstart");
    command.arg(lighthouse());
    let mut session = Session::start(command, None);
    session.expect(QUESTION);
    session.send("\u{3}");
    session.expect("the run is being cancelled");
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen}");
    assert_eq!(screen.matches(QUESTION).count(), 1, "{screen}");
    assert!(screen.contains("quickstart: cancelled"), "{screen}");
}

#[test]
fn nothing_is_written_over_a_question() {
    let url = server(|request| {
        coordinator(request)
            .unwrap_or_else(|| Reply::Text((1..=40).map(|n| format!("word{n} ")).collect(), Duration::from_millis(20)))
    });
    let mut command = example("quickstart");
    command.arg(lighthouse()).env("HPD_BASE_URL", url);
    let mut session = Session::start(command, None);
    session.expect(QUESTION);
    session.send("y\n");
    // The first child begins to work while the question about the second one is open.
    session.expect("wants to use the subagent `reviewer`");
    session.expect(QUESTION);
    std::thread::sleep(Duration::from_millis(400));
    let screen = session.text();
    assert!(screen.ends_with(QUESTION), "{screen}");
    session.send("y\n");
    session.expect("[Coordinator › reviewer]");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("word40").count(), 2, "{screen}");
    for pair in [["summarizer]", "↑ `summarizer` has"], ["reviewer]", "↑ `reviewer` has"]] {
        let [last, end] = pair.map(|text| screen.rfind(text).unwrap());
        assert!(last < end, "a child's end is the last of it: {screen}");
    }
}

#[test]
fn always_holds_for_the_whole_conversation() {
    let mut session = Session::start(example("chat"), None);
    let long = LIGHTHOUSE.lines().nth(2).unwrap();
    session.expect("you> ");
    session.send(&format!("{long}\n"));
    session.expect("Assistant wants to use the subagent `summarizer`");
    session.expect(QUESTION);
    session.send("a\n");
    session.expect("is allowed for the whole session");
    session.expect("you> ");
    session.send(&format!("{long}\n"));
    session.expect("## summarizer");
    session.expect("you> ");
    session.send("\u{4}");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches(QUESTION).count(), 1, "{screen}");
}

#[test]
fn ctrl_c_in_a_conversation_cancels_one_run_only() {
    let (arrived, arrivals) = mpsc::channel();
    let url = server(move |request| match last_message(request)["content"].to_string().contains("wait") {
        true => {
            arrived.send(()).unwrap();
            Reply::Hold
        }
        false => Reply::text("Here I am."),
    });
    let mut command = example("chat");
    command.env("HPD_BASE_URL", url);
    let mut session = Session::start(command, None);
    session.expect("you> ");
    session.send("\u{3}");
    session.expect("/quit or Ctrl-D ends the program");
    session.expect("you> ");
    session.send("please wait\n");
    arrivals.recv_timeout(PATIENCE).unwrap();
    session.send("\u{3}");
    session.expect("the run is being cancelled");
    session.expect("cancelled; the conversation goes on");
    session.expect("you> ");
    session.send("hello\n");
    session.expect("Here I am.");
    session.expect("you> ");
    session.send("/quit\n");
    assert_eq!(session.end().0, Some(0));
}
