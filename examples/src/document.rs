//! The document that an example works on: a file, or standard input.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
};

use crate::report::Failure;

/// The largest document. A model reads all of it, more than once.
const LIMIT: usize = 1 << 20;

/// A document with its name.
#[derive(Debug, PartialEq, Eq)]
pub struct Document {
    /// The file's name, or `standard input`.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl Document {
    /// Reads the file `name`. Standard input is read for `-`, and if there is no name and it is no terminal.
    ///
    /// # Errors
    ///
    /// [`Failure`] with a sentence that says what is wrong with the document.
    pub fn read(name: Option<&OsStr>) -> Result<Self, Failure> {
        match name {
            Some(name) if name != "-" => Self::from_file(Path::new(name)),
            None if io::stdin().is_terminal() => {
                Err(Failure::Usage("name a file, or give a document by standard input".to_owned()))
            }
            _ => Self::from_bytes("standard input".to_owned(), io::stdin().lock()),
        }
    }

    fn from_file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            Failure::failed(match error.kind() {
                io::ErrorKind::NotFound => format!("there is no file `{name}`"),
                io::ErrorKind::PermissionDenied => format!("you may not read `{name}`"),
                _ => format!("`{name}` can't be opened: {error}"),
            })
        })?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Failure::failed(format!("`{name}` is a directory; name a file in it")));
        }
        Self::from_bytes(name, file)
    }

    fn from_bytes(name: String, source: impl Read) -> Result<Self, Failure> {
        let mut bytes = Vec::new();
        // One byte more than the limit tells a document that is too large from one that just fits.
        let read = source.take(LIMIT as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure::failed(format!("`{name}` can't be read: {error}")))?;
        if bytes.len() > LIMIT {
            return Err(Failure::failed(format!("`{name}` is too large: at most {} KiB are read", LIMIT / 1024)));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let place = error.utf8_error().valid_up_to();
            Failure::failed(format!(
                "`{name}` is no UTF-8 text (byte {place} is wrong); if it is text in another encoding, convert it"
            ))
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if text.trim().is_empty() {
            return Err(Failure::failed(format!("`{name}` is empty")));
        }
        Ok(Self { name, text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, String> {
        let document = Document::from_bytes("x".to_owned(), bytes);
        document.map(|document| document.text).map_err(|failure| failure.to_string())
    }

    #[test]
    fn only_text_that_is_there_is_a_document() {
        assert_eq!(read("\u{feff}Hello.".as_bytes()).unwrap(), "Hello.");
        assert!(read(b" \n\t").unwrap_err().contains("empty"));
        assert!(read(b"ab\xff").unwrap_err().contains("byte 2"));
        assert!(read(&vec![b'a'; LIMIT]).is_ok());
        assert!(read(&vec![b'a'; LIMIT + 1]).unwrap_err().contains("too large"));
    }

    #[test]
    fn endless_input_is_refused() {
        let error = Document::from_bytes("x".to_owned(), io::repeat(b'a')).unwrap_err();
        assert!(error.to_string().contains("too large"));
    }
}
