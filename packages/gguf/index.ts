export {
  describeModelFile,
  findModelFile,
  type ModelFileOptions,
  type OpenModelFile,
  openModelFile,
} from './model-file.ts';
