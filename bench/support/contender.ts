/**
 * What the product and the queues it is compared with have in common, so that one measurement fits all. A job carries a
 * stamp, the instant of its submission, and reports it when it runs.
 */
export interface Contender {
  readonly name: string
  /** Creates its tables. Done once for a database. */
  prepare(url: string): Promise<void>
  connect(url: string): Promise<Producer>
  work(url: string, options: WorkOptions): Promise<Worker>
}

/** Hands in jobs from a process that works on none. */
export interface Producer {
  clear(): Promise<void>
  /** A backlog, the quickest way there is: how it came about is not measured. */
  fill(count: number): Promise<void>
  submit(stamp: string): Promise<void>
  /** Is every job done, and is that recorded? */
  isDrained(): Promise<boolean>
  close(): Promise<void>
}

export interface WorkOptions {
  readonly concurrency: number
  /** How long each job takes; 0 = nothing is done. */
  readonly jobMs: number
  readonly onJob: (stamp: string) => void
}

export interface Worker {
  /** Hands in a job from the working process itself. */
  submit(stamp: string): Promise<void>
  stop(): Promise<void>
}

/** What a caller of a real queue would send along. */
export const TEXT = 'Update the base image of all components to the release of this week, and nothing else'
