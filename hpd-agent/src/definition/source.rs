//! Where definitions come from: texts, files, and the Markdown files below a folder.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use walkdir::{DirEntry, WalkDir};

use super::{DefinitionProblem, place, shown};

/// The largest number of bytes of a file.
const LIMIT: u64 = 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) enum Source {
    Directory(PathBuf),
    File(PathBuf),
    Text { name: Arc<str>, text: String, format: Format },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Markdown,
    Json,
}

/// The text of one file.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) path: Arc<str>,
    /// Without a byte order mark, and with one kind of line end.
    pub(super) text: String,
    pub(super) format: Format,
    /// Whether somebody asked for this very file, so that there has to be a definition in it.
    pub(super) asked_for: bool,
}

/// All texts in the order of the sources.
pub(super) fn texts(sources: &[Source], problems: &mut Vec<DefinitionProblem>) -> Vec<Text> {
    let mut texts = Vec::new();
    for source in sources {
        match source {
            Source::Text { name, text, format } => {
                texts.extend(text_of(Arc::clone(name), text.as_bytes().to_vec(), *format, true, problems))
            }
            Source::File(path) => match format_of(path) {
                Some(format) => texts.extend(read(path, format, true, problems)),
                None => problems.push(DefinitionProblem::UnknownFormat { path: shown(path).to_string() }),
            },
            Source::Directory(path) if path.is_file() => problems.push(DefinitionProblem::Unreadable {
                path: shown(path).to_string(),
                reason: "it is a file and not a folder: name it with `with_file`".to_owned(),
            }),
            Source::Directory(path) => directory(path, &mut texts, problems),
        }
    }
    texts
}

/// The Markdown files below a folder.
fn directory(root: &Path, texts: &mut Vec<Text>, problems: &mut Vec<DefinitionProblem>) {
    // Folders with links to each other have more paths than anybody can walk.
    let mut walked = HashSet::new();
    let mut is_new = |entry: &DirEntry| {
        // What cannot be found is told by the walk itself.
        !entry.file_type().is_dir() || fs::canonicalize(entry.path()).map_or(true, |path| walked.insert(path))
    };
    let walk = WalkDir::new(root).min_depth(1).follow_links(true).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| !(entry.depth() > 0 && is_hidden(entry.path())) && is_new(entry)) {
        match entry {
            // A pipe has no end, and is no definition.
            Ok(entry) if !entry.file_type().is_file() => {}
            Ok(entry) if format_of(entry.path()) == Some(Format::Markdown) => {
                texts.extend(read(entry.path(), Format::Markdown, false, problems));
            }
            Ok(_) => {}
            Err(error) if error.depth() > 0 && error.path().is_some_and(is_hidden) => {}
            // A link that leads nowhere is worth a word only where it could be a definition.
            Err(error) if leads_nowhere(&error) && error.path().and_then(format_of) != Some(Format::Markdown) => {}
            Err(error) => {
                let path = shown(error.path().unwrap_or(root)).to_string();
                let reason = match error.loop_ancestor() {
                    Some(_) => "it leads back to a folder that it is in: remove the link".to_owned(),
                    None => error.into_io_error().map_or_else(String::new, |error| error.to_string()),
                };
                problems.push(DefinitionProblem::Unreadable { path, reason });
            }
        }
    }
}

/// What other programs keep for themselves: `.git`, the locks and backups of editors.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn leads_nowhere(error: &walkdir::Error) -> bool {
    let is_missing = error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
    is_missing && error.path().is_some_and(Path::is_symlink)
}

fn format_of(path: &Path) -> Option<Format> {
    let extension = path.extension()?.to_str()?;
    if extension.eq_ignore_ascii_case("md") {
        Some(Format::Markdown)
    } else {
        extension.eq_ignore_ascii_case("json").then_some(Format::Json)
    }
}

fn read(path: &Path, format: Format, asked_for: bool, problems: &mut Vec<DefinitionProblem>) -> Option<Text> {
    if path.exists() && !path.is_file() {
        let reason = "it is no regular file".to_owned();
        problems.push(DefinitionProblem::Unreadable { path: shown(path).to_string(), reason });
        return None;
    }
    let mut bytes = Vec::new();
    // One byte more tells that there is more.
    let done: io::Result<_> = File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes));
    match done {
        Ok(_) => text_of(shown(path), bytes, format, asked_for, problems),
        Err(error) => {
            let (path, reason) = (shown(path).to_string(), error.to_string());
            problems.push(DefinitionProblem::Unreadable { path, reason });
            None
        }
    }
}

fn text_of(
    path: Arc<str>,
    bytes: Vec<u8>,
    format: Format,
    asked_for: bool,
    problems: &mut Vec<DefinitionProblem>,
) -> Option<Text> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LIMIT {
        problems.push(DefinitionProblem::TooLarge { path: path.to_string(), limit: LIMIT });
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n").replace('\r', "\n");
            Some(Text { path, text, format, asked_for })
        }
        Err(error) => {
            let legal = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            problems.push(DefinitionProblem::NotUtf8 { at: place(&path, line_at(legal)) });
            None
        }
    }
}

/// The number of the line that comes after this much text, from 1.
pub(super) fn line_at(before: &[u8]) -> u32 {
    let ends = before.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(ends).unwrap_or(u32::MAX).saturating_add(1)
}
