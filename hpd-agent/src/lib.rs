//! hpd
pub mod chat;
pub mod error;
pub mod history;
pub mod id;
pub mod message;
pub mod testing;
