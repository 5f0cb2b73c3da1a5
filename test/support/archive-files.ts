import { readFileSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { extract } from 'tar-stream'

/** The files of a .tar.gz, by their names without the folder. */
export async function filesOfArchive(path: string): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const tar = extract()
  tar.end(gunzipSync(readFileSync(path)))
  for await (const entry of tar) files.set(entry.header.name.replace(/^[^/]*\//, ''), await textOf(entry))
  return files
}
