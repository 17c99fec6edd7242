// What the server has sent of the chosen session, and the next part of it.

const MOST_STEPS = 600;
const MOST_SKIPS = 300;

async function json(path, parameters) {
  const response = await fetch(path + (parameters ? "?" + new URLSearchParams(parameters) : ""));
  if (!response.ok) {
    throw new Error("status " + response.status);
  }
  return response.json();
}

/** Each selection makes a new feed, so that nothing of another session or worker is ever mixed in. */
export class Feed {
  constructor(session, worker) {
    this.session = session;
    this.worker = worker;
    this.workers = new Map();
  }

  static async sessions() {
    return (await json("/mixedprecision/sessions")).sessions;
  }

  /** Fetches what is new of each worker: [{id, last}]. */
  async update(workers) {
    await Promise.all(workers.map(worker => this.updateOne(worker)));
  }

  async updateOne({id, last}) {
    const known = this.workers.get(id) || {last: 0, steps: [], skips: [], plan: null};
    if (last > known.last || known.plan === null) {
      const parameters = {session: this.session, worker: id, since: known.last, layers: id === this.worker};
      const news = await json("/mixedprecision/updates", parameters);
      known.steps = thinned(known.steps.concat(news.steps));
      known.skips = known.skips.concat(news.skips).slice(-MOST_SKIPS);
      known.plan = news.plan || known.plan;
      known.last = news.last;
      this.workers.set(id, known);
    }
  }

  /** The chosen worker's part; undefined before it has come. */
  chosen() {
    return this.workers.get(this.worker);
  }
}

/** Leaves out every other one of the older half when there are too many. */
function thinned(steps) {
  const middle = Math.floor(steps.length / 2);
  return steps.length <= MOST_STEPS ? steps : steps.filter((step, i) => i >= middle || i % 2 === 0);
}
