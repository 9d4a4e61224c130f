//! Threads that wait for the disk, so that nobody else does.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Instant,
};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Jobs that wait before callers do.
const QUEUE: usize = 64;

/// Threads with a connection each, which take jobs from one bounded queue.
#[derive(Debug)]
pub(super) struct Worker {
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

/// The threads have ended.
#[derive(Debug, thiserror::Error)]
#[error("its thread has ended")]
pub(super) struct Ended;

impl Worker {
    pub(super) fn start(name: &str, connections: Vec<Connection>) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<Job>(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut worker = Self { jobs: Some(sender), threads: Vec::new() };
        for mut connection in connections {
            let receiver = Arc::clone(&receiver);
            let next = move || receiver.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
            let work = move || {
                while let Some(job) = next() {
                    job(&mut connection);
                }
            };
            worker.threads.push(std::thread::Builder::new().name(name.to_owned()).spawn(work)?);
        }
        Ok(worker)
    }

    /// Runs a job on one of the threads. A job whose caller has given up before it begins is not run.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        until: Instant,
        work: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, Ended> {
        let (reply, answer) = oneshot::channel();
        let job = move |connection: &mut Connection| {
            if !reply.is_closed() && Instant::now() < until {
                // Who does not wait for the answer any more does not need it.
                let _ = reply.send(work(connection));
            }
        };
        let jobs = self.jobs.as_ref().ok_or(Ended)?;
        jobs.send(Box::new(job)).await.map_err(|_| Ended)?;
        answer.await.map_err(|_| Ended)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        for thread in self.threads.drain(..) {
            // A panic has been reported by its job's caller.
            let _ = thread.join();
        }
    }
}
