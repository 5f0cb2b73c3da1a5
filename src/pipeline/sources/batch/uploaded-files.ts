/** Which files were uploaded: lines without an `event_id` count as often as their file comes. */
export interface UploadedFiles {
  /**
   * Notes that a job is to have a file, before there is that job. It is known for as long as the record of the job is.
   * Rejects with `UnavailableError`.
   * @param digest of the file's bytes
   * @param known the job that the caller knows to have the file: this one may have it too
   * @returns undefined: it is noted; or the job that has the file or is being given it, and nothing is noted
   */
  claim(tenantId: string, digest: string, jobId: string, known?: string): Promise<string | undefined>
}
