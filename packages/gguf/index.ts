export {
  describeModelFile,
  findModelFile,
  type ModelFileOptions,
  type OpenModelFile,
  openModelFile,
  withModelFile,
} from './model-file.ts';
