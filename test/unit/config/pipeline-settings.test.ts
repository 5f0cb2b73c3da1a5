import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { Command } from 'commander'
import { readConfig } from '../../../src/config/config.ts'
import { optional, ownValues, setting } from '../../../src/config/setting.ts'
import { integer, path } from '../../../src/config/values.ts'
import { settingsOf } from '../../../src/pipeline/declaration/pipeline.ts'
import type { CliContext } from '../../../src/terminal/context.ts'
import { addPipelineSettings, addSettings, configOf } from '../../../src/terminal/settings-options.ts'
import { pipeline } from '../../example/source-and-sink-pipeline.ts'

const own = {
  folder: setting('COPY_DIR', 'dir', './copy', 'folder of the copies', path()),
  files: optional('COPY_FILES_MAX', 'n', 'files that are kept', integer(1, 9)),
}
const settings = Object.values(own)

test('a setting of a sink or a source is read, defaulted and refused like all others', () => {
  const read = (env: Record<string, string>, flags = {}) => readConfig(env, {}, undefined, { settings, flags }).own
  assert.deepEqual(read({}), { COPY_DIR: resolve('./copy'), COPY_FILES_MAX: undefined })
  assert.deepEqual(ownValues(own, read({ COPY_DIR: '/a', COPY_FILES_MAX: '3' })), { folder: '/a', files: 3 })
  assert.deepEqual(read({ COPY_DIR: '/a' }, { COPY_DIR: '/b' }).COPY_DIR, '/b')
  assert.throws(() => read({ COPY_FILES_MAX: '10' }), {
    message: 'COPY_FILES_MAX "10": must be a whole number from 1 to 9',
  })
  assert.throws(() => read({}, { COPY_FILES_MAX: 'x' }), { message: /^--copy-files-max "x": must be a whole number/ })
})

test('a duplicate setting and a setting that was not read are named', () => {
  const port = setting('PORT', 'n', '1', 'port', integer(0, 1))
  assert.throws(() => readConfig({}, {}, undefined, { settings: [port] }), {
    message: 'the pipeline declares the setting PORT, which ipid has already: choose another name',
  })
  assert.throws(() => ownValues(own, readConfig({}).own), {
    message: 'the setting COPY_DIR of the pipeline was not read',
  })
})

test('the settings that a pipeline declares are flags of the command, with their help', async () => {
  const command = addSettings(new Command('start'), ['dataDir'])
  const added = {
    ...pipeline,
    ...{ sources: pipeline.sources.slice(-1), sinks: pipeline.sinks.slice(-1) },
  }
  addPipelineSettings(command, settingsOf(added))
  const help = command.helpInformation().replace(/\s+/g, ' ')
  assert.match(
    help,
    /--copy-dir <dir> folder for NDJSON copies of what ClickHouse gets; without it there are none \(COPY_DIR\)/,
  )
  assert.match(help, /--visitor-platform <name> platform of events of \/visitor \(VISITOR_PLATFORM, kiosk\)/)
  await command.parseAsync(['--copy-dir', '/copies'], { from: 'user' })
  const config = configOf({ env: { VISITOR_PLATFORM: 'lobby' } } as unknown as CliContext, command)
  assert.deepEqual(config.own, {
    VISITOR_PLATFORM: 'lobby',
    COPY_DIR: '/copies',
  })
})
