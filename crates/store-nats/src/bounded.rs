//! Several things at once, but not too many.

use std::future::Future;

use tokio::task::JoinSet;

/// Runs the jobs, at most `limit` at a time, and gives the results in the order of the jobs. The
/// first failure ends the others, and so does a job that panics.
pub(crate) async fn all<J, F, T, E>(
    jobs: impl IntoIterator<Item = J, IntoIter: Send> + Send,
    limit: usize,
    run: impl Fn(J) -> F + Send,
) -> Result<Vec<T>, E>
where
    J: Send,
    F: Future<Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    let mut jobs = jobs.into_iter().enumerate();
    let mut running = JoinSet::new();
    let mut done: Vec<(usize, T)> = Vec::new();
    loop {
        while running.len() < limit.max(1) {
            let Some((place, job)) = jobs.next() else { break };
            let job = run(job);
            running.spawn(async move { (place, job.await) });
        }
        match running.join_next().await {
            None => break,
            Some(Ok((place, result))) => done.push((place, result?)),
            // What it was to do is not done, and nobody may go on as if it were.
            Some(Err(error)) => {
                if let Ok(panic) = error.try_into_panic() {
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
