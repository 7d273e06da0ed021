//! The ranking that the source system calls BM25, digit for digit.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::chunk::Chunk;
use super::library::Library;

/// The most entries that all searches of one audit look at.
const MAX_WORK: u64 = 1 << 31;

/// Who holds which word.
#[derive(Debug)]
pub(super) struct Postings {
    /// Chunks with their counts, by word.
    by_word: HashMap<String, Vec<(u32, u64)>>,
    /// Words of each chunk.
    lengths: Vec<u64>,
    total: u64,
    /// Chunks by name of the document and by digest: the order of equal scores.
    order: Vec<u32>,
    /// The place of each chunk in that order.
    rank: Vec<u32>,
    work_left: u64,
}

/// A chunk that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub(super) chunk: u32,
    pub(super) score: f64,
}

impl Default for Postings {
    fn default() -> Self {
        Self {
            by_word: HashMap::new(),
            lengths: Vec::new(),
            total: 0,
            order: Vec::new(),
            rank: Vec::new(),
            work_left: MAX_WORK,
        }
    }
}

impl Postings {
    /// Adds the next chunk.
    pub(super) fn add(&mut self, terms: BTreeMap<String, u64>) {
        let at = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        let mut length = 0_u64;
        for (word, count) in terms {
            length = length.saturating_add(count);
            self.by_word.entry(word).or_default().push((at, count));
        }
        self.lengths.push(length);
        self.total = self.total.saturating_add(length);
    }

    /// Brings equal scores in their order, once all chunks are here.
    pub(super) fn order(&mut self, library: &Library) {
        let key = |at: &u32| {
            let chunk: Option<Chunk> = library.chunk(*at);
            let name = chunk.and_then(|chunk| library.document(chunk)).map(|of| of.id.as_str());
            (name, chunk.map(|chunk| chunk.digest))
        };
        self.order = (0..u32::try_from(self.lengths.len()).unwrap_or(u32::MAX)).collect();
        self.order.sort_by(|a, b| key(a).cmp(&key(b)));
        self.rank = vec![0; self.order.len()];
        for (rank, at) in self.order.iter().enumerate() {
            if let Some(place) = self.rank.get_mut(*at as usize) {
                *place = u32::try_from(rank).unwrap_or(u32::MAX);
            }
        }
    }

    /// How many chunks hold a word, for every word.
    pub(super) fn frequencies(&self) -> impl Iterator<Item = (&str, u64)> {
        self.by_word.iter().map(|(word, chunks)| (word.as_str(), chunks.len() as u64))
    }

    /// Words of a chunk, on average.
    pub(super) fn average(&self) -> f64 {
        float(self.total) / float(self.lengths.len() as u64)
    }

    /// The first chunks for a query. `None` if all searches together would take too long.
    pub(super) fn search(
        &mut self,
        query: &str,
        (k1, b): (f64, f64),
        count: usize,
    ) -> Option<Vec<Hit>> {
        let mut asked: Vec<(String, u64)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for word in words(query) {
            let place = *places.entry(word.clone()).or_insert(asked.len());
            match asked.get_mut(place) {
                Some((_, times)) => *times = times.saturating_add(1),
                None => asked.push((word, 1)),
            }
        }
        let mut scores: HashMap<u32, f64> = HashMap::new();
        let (all, average) = (float(self.lengths.len() as u64), self.average());
        for (word, times) in &asked {
            let Some(chunks) = self.by_word.get(word) else { continue };
            self.work_left = self.work_left.checked_sub(chunks.len() as u64)?;
            let with = float(chunks.len() as u64);
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            for (at, count) in chunks {
                let length = self.lengths.get(*at as usize).copied().unwrap_or_default();
                let norm = k1 * (1.0 - b + b * (float(length) / average));
                let count = float(*count);
                let part = rarity * ((count * (k1 + 1.0)) / (count + norm)) * float(*times);
                *scores.entry(*at).or_default() += part;
            }
        }
        self.work_left = self.work_left.checked_sub(count.min(self.order.len()) as u64)?;
        Some(self.first(scores, count))
    }

    fn first(&self, scores: HashMap<u32, f64>, count: usize) -> Vec<Hit> {
        let rank = |hit: &Hit| self.rank.get(hit.chunk as usize).copied().unwrap_or_default();
        let mut hits: Vec<Hit> =
            scores.into_iter().map(|(chunk, score)| Hit { chunk, score: rounded(score) }).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| rank(a).cmp(&rank(b))));
        // A score below zero would come behind those without any; with k1 and b as they are there
        // is none.
        let scored: HashSet<u32> = hits.iter().map(|hit| hit.chunk).collect();
        let others = self.order.iter().filter(|at| !scored.contains(at));
        let zeros = others.map(|chunk| Hit { chunk: *chunk, score: 0.0 });
        let room = count.saturating_sub(hits.len());
        hits.extend(zeros.take(room));
        hits.truncate(count);
        hits
    }
}

/// The words of a text: ASCII letters, digits and underscores, in lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
}

/// A number as it reads with six digits behind the point.
fn rounded(score: f64) -> f64 {
    format!("{score:.6}").parse().unwrap_or(score)
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and chunks are below 2^53")]
const fn float(count: u64) -> f64 {
    count as f64
}
