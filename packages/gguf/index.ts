export {
  describeModelFile,
  findModelFile,
  type ModelFileOptions,
  modelFileName,
  modelFiles,
  type OpenModelFile,
  openModelFile,
  withModelFile,
} from './model-file.ts';
